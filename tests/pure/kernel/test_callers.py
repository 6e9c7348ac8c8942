"""Callers by the code of a kernel that is made of bytes: /proc/kcore, kallsyms; and which modules are absent."""

from __future__ import annotations

import gzip
import lzma
import struct

import pytest

from events.names.kallsyms import Symbols
from kernel.attach import symbols as ground
from kernel.attach.absent_modules import AbsentModules, unpacked
from kernel.attach.callers import CallerSearch
from kernel.attach.debug_info import DebugInfo
from kernel.attach.kcore import PATH, Kcore
from kernel.errors import FileRefused
from probes.attaching.callers import Callers
from probes.attaching.catalog import Catalog
from probes.attaching.values import ReasonKind, Relation
from probes.facts.facts import Feature, TargetFacts
from tests.fake_target import FakeTarget

TEXT = 0xFFFFFFFF81000000
MODULE = 0xFFFFFFFFC0200000
SIZE = 0x3000

AT = {
    "_stext": 0x0,
    "plain": 0x100,
    "listed_caller": 0x200,
    "hidden_caller": 0x300,
    "far_caller": 0x400,
    "tail_caller": 0x500,
    "marked": 0x600,
    "skips_mark": 0x700,
    "pads": 0x800,
    "alias_a": 0x900,
    "alias_b": 0x900,
    "split": 0xA00,
    "split.cold": 0xB00,
    "twin": 0xC00,
    "recursive": 0xE00,
    "lonely": 0xF00,
    "__pfx_marked": 0x5F0,
    "_etext": SIZE,
}
TRACEABLE = (
    "listed_caller",
    "far_caller",
    "tail_caller",
    "skips_mark",
    "pads",
    "alias_b",
    "split",
    "mod_caller [mod]",
)


def call(code: bytearray, at: int, target: int, base: int = TEXT, opcode: int = 0xE8) -> None:
    code[at : at + 5] = bytes([opcode]) + struct.pack("<i", target - (base + at) - 5)


def machine_code() -> tuple[bytes, bytes]:
    code = bytearray(b"\x90" * SIZE)
    plain, marked = TEXT + AT["plain"], TEXT + AT["marked"]
    code[AT["marked"] : AT["marked"] + 4] = b"\xf3\x0f\x1e\xfa"
    call(code, AT["listed_caller"] + 0x10, plain)
    call(code, AT["listed_caller"] + 0x20, plain)
    call(code, AT["hidden_caller"] + 0x10, plain)
    call(code, AT["far_caller"] + 0x10, TEXT + AT["hidden_caller"])
    call(code, AT["tail_caller"] + 0x30, plain, opcode=0xE9)
    call(code, AT["skips_mark"] + 0x8, marked + 4)
    call(code, AT["pads"] + 0x8, marked - 16)
    call(code, AT["alias_a"] + 0x8, TEXT + AT["twin"])
    call(code, AT["split.cold"] + 0x8, marked)
    call(code, 0xD00 + 0x8, TEXT + AT["recursive"])  # the second twin
    call(code, AT["recursive"] + 0x20, TEXT + AT["recursive"])
    module = bytearray(0x100)
    call(module, 0x40, plain, base=MODULE)
    return bytes(code), bytes(module)


def kallsyms() -> bytes:
    lines = [f"{TEXT + offset:x} t {name}" for name, offset in AT.items()]
    lines += [f"{TEXT + 0xD00:x} t twin", f"{MODULE:x} t mod_caller\t[mod]", f"{MODULE + 0x80:x} t mod_other\t[mod]"]
    return "\n".join(lines).encode() + b"\n"


def kcore(*segments: tuple[int, bytes], big_endian: bool = False) -> bytes:
    """An ELF core as /proc/kcore is one."""
    head = b"\x7fELF\x02" + (b"\x02" if big_endian else b"\x01") + b"\x01" + bytes(9)
    at, data, table = 64 + 56 * (len(segments) + 1), b"", struct.pack("<2I6Q", 4, 0, 64, 0, 0, 0, 0, 0)
    for address, content in segments:
        table += struct.pack("<2I6Q", 1, 7, at + len(data), address, 0, len(content), len(content), 4096)
        data += content
    head += struct.pack("<2HI3QI6H", 4, 62, 1, 0, 64, 0, 0, 64, 56, len(segments) + 1, 0, 0, 0)
    return head + table + data


@pytest.fixture
def search() -> CallerSearch:
    return make_search()


def make_search(
    machine: str = "x86_64",
    core: bytes | None = None,
    fprobes: bool = True,
    traceable: tuple[str, ...] = (*TRACEABLE, "twin", "twin"),
) -> CallerSearch:
    code, module = machine_code()
    features = {Feature.KPROBE_EVENTS} | ({Feature.FPROBE_EVENTS} if fprobes else set())
    facts = TargetFacts(machine, "6.12.0", features=frozenset(features), functions=traceable)
    target = FakeTarget({PATH: kcore((TEXT, code), (MODULE, module)) if core is None else core})
    symbols = Symbols(kallsyms())
    catalog = Catalog(None, facts)
    catalog.sources = ground.symbol_lookups(target, facts.release, symbols)
    return CallerSearch(target, machine, symbols, catalog, DebugInfo(target, facts.release))


def found(search: CallerSearch, name: str) -> Callers:
    callers = search.find(name)
    assert callers is not None
    return callers


def names(callers: Callers) -> list[tuple[str, str]]:
    return [(str(way.place), way.note) for way in callers.alternatives]


def test_calls_and_jumps_from_everywhere(search: CallerSearch) -> None:
    callers = found(search, "plain")
    assert names(callers) == [
        ("listed_caller", "at +0x10, +0x20"),
        ("mod_caller", "at +0x40"),
        ("tail_caller", "jumps there at +0x30"),
    ]
    assert callers.hidden == ("hidden_caller",)
    assert {way.relation for way in callers.alternatives} == {Relation.CALLS}
    assert callers.text == ""


def test_who_can_be_probed_may_be_farther_away(search: CallerSearch) -> None:
    callers = found(search, "hidden_caller")
    assert names(callers) == [("far_caller", "at +0x10")]
    assert names(found(make_search(traceable=("far_caller",)), "plain")) == [("far_caller", "through hidden_caller")]


def test_calls_may_skip_the_mark_or_begin_in_the_padding(search: CallerSearch) -> None:
    assert names(found(search, "marked")) == [("pads", "at +0x8"), ("skips_mark", "at +0x8"), ("split", "")]


def test_a_caller_has_the_name_by_which_it_can_be_probed(search: CallerSearch) -> None:
    assert names(found(search, "twin")) == [("alias_b", "at +0x8")]


def test_a_function_is_no_caller_of_itself(search: CallerSearch) -> None:
    assert [name for name, _ in names(found(search, "recursive"))] == ["twin"]


def test_a_twin_that_calls_is_named_by_its_address() -> None:
    [(place, note)] = names(found(make_search(fprobes=False), "recursive"))
    assert (int(place, 16), note) == (TEXT + 0xD00, "at +0x8")


def test_nobody_calls_it(search: CallerSearch) -> None:
    callers = found(search, "lonely")
    assert callers.callers == ()
    assert "called through a pointer, or never" in callers.text
    assert "no code of its own" in found(search, "nobody").text


def test_why_it_could_not_be_looked_for() -> None:
    assert "s390x" in found(make_search("s390x"), "plain").text
    assert "can't be read" in found(make_search(core=b""), "plain").text
    assert "can't be read" in found(make_search(core=kcore((TEXT, b""), big_endian=True)), "plain").text
    hidden = make_search()
    hidden._symbols = None
    assert "hides the addresses" in found(hidden, "plain").text


def test_the_search_can_be_stopped_and_tells_how_far_it_is(search: CallerSearch) -> None:
    shares: list[float] = []

    def go_on(share: float) -> bool:
        shares.append(share)
        return True

    assert search.find("plain", lambda share: share > 0) is None
    assert search.find("plain", go_on) is not None
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert len(shares) > 1
    count = len(shares)
    search.find("marked", go_on)
    assert len(shares) == count, "the code is read once"


def test_kcore_by_address() -> None:
    core = Kcore(FakeTarget({PATH: kcore((TEXT, b"abcdef"), (MODULE, b"xyz"))}))
    assert core.read(TEXT + 2, 3) == b"cde"
    assert core.read(TEXT + 4, 100) == b"ef"
    assert core.read(MODULE, 3) == b"xyz"
    assert core.read(TEXT - 1, 1) == b""
    with pytest.raises(FileRefused):
        Kcore(FakeTarget())


# -- modules that aren't loaded ------------------------------------------------------------------------------------

ELF = b"\x7fELF" + bytes(60) + b"\0nf_tables_newrule\0helper\0"
DISK = {
    "/proc/modules": b"ext4 100 0 - Live 0x0\n",
    "/lib/modules/6.12.0/modules.dep": b"kernel/fs/ext4/ext4.ko.xz: kernel/lib/crc16.ko.xz\n"
    b"kernel/net/netfilter/nf_tables.ko.xz:\nkernel/net/nf.ko.gz:\nkernel/fs/xfs/xfs.ko.zst:\nextra/snd-hda.ko:\n",
    "/lib/modules/6.12.0/modules.symbols": b"# Aliases\nalias symbol:crc16 crc16\nalias symbol:snd_hda_x snd_hda\n",
    "/lib/modules/6.12.0/kernel/net/netfilter/nf_tables.ko.xz": lzma.compress(ELF),
    "/lib/modules/6.12.0/kernel/net/nf.ko.gz": gzip.compress(b"\x7fELF\0other\0"),
    "/lib/modules/6.12.0/kernel/fs/xfs/xfs.ko.zst": b"\x28\xb5\x2f\xfdpacked",
}


def test_modules_on_disk() -> None:
    modules = AbsentModules(FakeTarget(DISK), "6.12.0")
    assert modules.with_function("nf_tables_newrule") == [("nf_tables", True)]
    assert modules.with_function("nf_tables_none") == [], "the file says no"
    assert modules.with_function("xfs_open") == [("xfs", False)], "the file can't be read"
    assert modules.with_function("__xfs_open") == [("xfs", False)]
    assert list(modules.with_function("snd_hda_x")) == [("snd_hda", True)]
    assert modules.with_function("ext4_readdir") == [], "it is loaded"
    assert modules.with_function("crc16") == [], "not on the disk"
    assert list(AbsentModules(FakeTarget(), "6.12.0").with_function("xfs_open")) == []


def test_unpacking() -> None:
    assert unpacked(lzma.compress(ELF)) == ELF
    assert unpacked(gzip.compress(ELF)) == ELF
    assert unpacked(ELF) == ELF
    for damaged in (b"", b"\xfd7zXZ\0nonsense", b"\x1f\x8bnonsense", b"\x28\xb5\x2f\xfd"):
        assert unpacked(damaged) is None


def test_the_ground_of_a_target() -> None:
    table = kallsyms() + f"{TEXT + 0x9000:x} t plain_data\n{TEXT + 0x2000:x} t early.constprop.0\n".encode()
    facts = TargetFacts("x86_64", "6.12.0", features=frozenset({Feature.KPROBE_EVENTS}), functions=("twin", "twin"))
    catalog = Catalog(None, facts)
    catalog.sources = ground.symbol_lookups(FakeTarget(DISK), "6.12.0", Symbols(table))
    assert catalog.attachability("plain").has(ReasonKind.NOTRACE)
    assert catalog.attachability("plain_data").has(ReasonKind.DATA), "behind the code, whatever its letter is"
    assert catalog.attachability("early").has(ReasonKind.RENAMED)
    assert catalog.attachability("nf_tables_newrule").reasons[0].remedy == "modprobe nf_tables"
    assert catalog.attachability("mod_other").module == "mod"
    twins = catalog.attachability("twin").alternatives
    assert [(way.note, int(str(way.place), 16) - TEXT) for way in twins] == [
        ("between split and recursive", 0xC00),
        ("between split and recursive", 0xD00),
    ]
    hidden = ground.symbol_lookups(FakeTarget(DISK), "6.12.0", None)
    assert hidden.symbols is None
    assert hidden.absent is not None
