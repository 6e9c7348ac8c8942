"""Inlined copies from debug information, against a general reader of DWARF; and bytes that lie.

tests/data/dwarf.tar.xz has a.c and b.c and what gcc 12 made of them: `-O2 -g -gdwarf-N -nostdlib -static -no-pie
-mcmodel=kernel -Wl,-Ttext=0xffffffff81000000 -Wl,--build-id=sha1`, once with `-gz=zlib`.
"""

from __future__ import annotations

import contextlib
import io
import tarfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from btf.debug.dwarf import DwarfError, abbreviations, units
from btf.debug.inlined import DebugFile, Inlined, build_id
from events.names.kallsyms import Symbols
from kernel.attach import symbols as ground
from kernel.attach.callers import CallerSearch
from kernel.attach.debug_info import DebugInfo
from probes.attaching.catalog import Catalog
from probes.attaching.values import ReasonKind, Relation
from probes.facts.facts import Feature, TargetFacts
from tests.fake_target import FakeTarget

DATA = Path(__file__).parents[2] / "data/dwarf.tar.xz"
FILES = ["dwarf-4.elf", "dwarf-5.elf", "dwarf-5-zlib.elf"]
FUNCTIONS = ["helper", "only_inlined", "xhelper", "first", "second", "third", "unrelated", "start"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dwarf")
    with tarfile.open(DATA) as archive:
        archive.extractall(place, filter="data")
    return place


@pytest.fixture(params=FILES)
def path(request: pytest.FixtureRequest, folder: Path) -> Path:
    return folder / str(request.param)


@pytest.fixture
def file(path: Path) -> Iterator[DebugFile]:
    opened = DebugFile(path)
    yield opened
    opened.close()


def by_general_reader(path: Path, name: str) -> Inlined:
    """By pyelftools, looking at every entry."""
    elf: Any = ELFFile(io.BytesIO(path.read_bytes()))
    known, found = False, set()
    for unit in elf.get_dwarf_info().iter_CUs():
        dies = list(unit.iter_DIEs())

        def attribute(die: Any, key: str) -> Any:
            return die.attributes[key].value if key in die.attributes else None

        functions = {
            die.offset
            for die in dies
            if die.tag == "DW_TAG_subprogram" and attribute(die, "DW_AT_name") == name.encode()
        }
        known = known or bool(functions)
        for die in dies:
            origin = attribute(die, "DW_AT_abstract_origin")
            if die.tag == "DW_TAG_inlined_subroutine" and origin + unit.cu_offset in functions:
                found.add(attribute(die, "DW_AT_entry_pc") or attribute(die, "DW_AT_low_pc"))
    return Inlined(known, tuple(sorted(found)))


@pytest.mark.parametrize("name", [*FUNCTIONS, "none", "elper", "only"])
def test_the_same_as_a_general_reader_finds(file: DebugFile, path: Path, name: str) -> None:
    assert file.inlined(name) == by_general_reader(path, name)


def test_what_the_source_says(file: DebugFile) -> None:
    only = file.inlined("only_inlined")
    assert only is not None
    assert (only.known, len(only.addresses)) == (True, 3)
    assert file.inlined("xhelper") == Inlined(known=True, addresses=())
    assert file.inlined("none") == Inlined(known=False, addresses=())
    assert (file.text, len(file.build_id)) == (0xFFFFFFFF81000000, 20)


def test_it_can_be_stopped(file: DebugFile) -> None:
    shares: list[float] = []

    def stop(share: float) -> bool:
        shares.append(share)
        return share < 0.5

    assert file.inlined("only_inlined", stop) is None
    assert shares == [0.0, 0.5]
    file.close()
    file.close()


def test_files_without_it(tmp_path: Path, folder: Path) -> None:
    nothing = tmp_path / "nothing"
    nothing.write_bytes(b"no ELF file")
    with pytest.raises(DwarfError):
        DebugFile(nothing)
    with pytest.raises(OSError, match="none"):
        DebugFile(tmp_path / "none")
    stripped = (folder / "dwarf-5.elf").read_bytes().replace(b".debug_info", b".bedug_info")
    nothing.write_bytes(stripped)
    with pytest.raises(DwarfError, match=r"no \.debug_info"):
        DebugFile(nothing)


@given(st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damage_is_refused_or_read_but_breaks_nothing(folder: Path, tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray((folder / "dwarf-5.elf").read_bytes())
    elf: Any = ELFFile(io.BytesIO(bytes(content)))
    section = elf.get_section_by_name(data.draw(st.sampled_from([".debug_info", ".debug_abbrev", ".debug_str"])))
    for _ in range(data.draw(st.integers(1, 8))):
        at = section["sh_offset"] + data.draw(st.integers(0, section["sh_size"] - 1))
        content[at] = data.draw(st.integers(0, 255))
    damaged = tmp_path / "damaged"
    damaged.write_bytes(content)
    try:
        file = DebugFile(damaged)
    except DwarfError:
        return
    with contextlib.closing(file), contextlib.suppress(DwarfError):
        for name in FUNCTIONS[:3]:
            assert file.inlined(name) is not None


@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    with contextlib.suppress(DwarfError):
        found = list(units(data))
        assert all(unit.start < unit.end <= len(data) for unit in found)
        assert all(before.end <= after.start for before, after in pairwise(found))
    with contextlib.suppress(DwarfError):
        assert 0 not in abbreviations(data, 0)
    assert build_id(data) in data


# -- on a target ---------------------------------------------------------------------------------------------------

SHIFT = 0x1F000000
"""By which this kernel lies elsewhere than its file says (KASLR)."""


def search(folder: Path, traceable: tuple[str, ...], notes: bytes | None = None) -> CallerSearch:
    path = folder / "dwarf-5.elf"
    elf: Any = ELFFile(io.BytesIO(path.read_bytes()))
    symbols = {
        s.name: s["st_value"] for s in elf.get_section_by_name(".symtab").iter_symbols() if s.name in FUNCTIONS
    }
    lines = [f"{address + SHIFT:x} t {name}" for name, address in symbols.items()]
    lines += [f"{0xFFFFFFFF81000000 + SHIFT:x} T _stext", f"{0xFFFFFFFF81001000 + SHIFT:x} T _etext"]
    table = Symbols("\n".join(lines).encode() + b"\n")
    facts = TargetFacts("x86_64", "6.1.0", features=frozenset({Feature.KPROBE_EVENTS}), functions=traceable)
    own = elf.get_section_by_name(".note.gnu.build-id").data()
    target = FakeTarget({"/sys/kernel/notes": own if notes is None else notes})
    catalog = Catalog(None, facts)
    catalog.sources = ground.symbol_lookups(target, facts.release, table)
    return CallerSearch(target, "x86_64", table, catalog, DebugInfo(target, facts.release, path))


def test_who_has_a_copy_can_be_probed_instead(folder: Path) -> None:
    callers = search(folder, ("third", "first")).find("only_inlined")
    assert callers is not None
    assert [(str(way.place), way.relation) for way in callers.alternatives] == [("third", Relation.CONTAINS)]
    assert callers.hidden == ("xhelper",)
    assert [(r.kind, r.text) for r in callers.reasons] == [
        (ReasonKind.INLINED, "its code was inlined, 3 copies in 2 functions")
    ]
    partly = search(folder, ("helper", "first", "second")).find("helper")
    assert partly is not None
    assert [str(way.place) for way in partly.alternatives] == ["first", "second"]
    assert [r.kind for r in partly.reasons] == [ReasonKind.PARTLY_INLINED]


def test_of_another_build_nothing_is_believed(folder: Path) -> None:
    for notes in (b"", b"\x04\0\0\0\x04\0\0\0\x03\0\0\0GNU\0abcd"):
        callers = search(folder, ("third",), notes).find("only_inlined")
        assert callers is not None
        assert callers.callers == ()
        assert "no code of its own" in callers.text


def test_a_file_that_others_may_write_is_not_found_by_itself(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = (folder / "dwarf-5.elf").read_bytes()
    elf: Any = ELFFile(io.BytesIO(content))
    target = FakeTarget({"/sys/kernel/notes": elf.get_section_by_name(".note.gnu.build-id").data()})
    path = tmp_path / "vmlinux"
    path.write_bytes(content)
    monkeypatch.setattr("kernel.attach.debug_info._PLACES", (str(path),))
    for mode, is_found in ((0o646, False), (0o644, True)):
        path.chmod(mode)
        debug = DebugInfo(target, "6.1.0")
        assert (debug.file is not None) == is_found
    path.chmod(0o646)
    assert DebugInfo(target, "6.1.0", path).file is not None, "that one was named"
