"""Kinds of input that are damaged: each makes one from random numbers, and gives it to a public function."""

from __future__ import annotations

import contextlib
import json
import lzma
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from btf.btf import Btf
from btf.damage import Damage
from btf.debug.dwarf import DwarfError
from btf.debug.inlined import DebugFile
from btf.errors import BtfError
from btf.functions.functions_of_type import functions_using
from btf.layout import PathError, children, fields, find_field, resolve
from btf.render import c_type, definition, prototype
from btf.values import enum_name
from btf.walk import is_complete, size_of
from events.batch import Batch, Chunk
from events.decode import Decoder
from events.format import FormatError, HeaderPage, parse_format
from events.names.kallsyms import Symbols
from events.names.value_names import Namer
from events.record import detail
from events.recording.reader import Recording, RecordingError
from events.store.cgroups import unpack as unpack_cgroups
from events.store.store import Store
from events.summary.hist_text import parse_hist
from events.text import parse_line, parse_lost, text_values
from foreign.archive import read_tar
from foreign.refusal import InputRefusal
from kernel.agent.journal import parse as parse_journal
from kernel.errors import KernelError, TargetUnusable
from kernel.facts.gather import gather
from kernel.hosts.ansible import read_inventory
from kernel.hosts.groups import GroupError, HostGroups
from kernel.recording.replay import ReplaySession
from kernel.recording.target import RecordingTarget
from kernel.tracefs import match_profile, parse_dynamic_events, parse_error_log, parse_stats
from probes.bootconfig.initrd_tail import find_tail, tail
from probes.bootconfig.text import BootconfigError
from probes.bootconfig.text import parse as parse_bootconfig
from probes.code.architectures.table import ARCHITECTURES
from probes.code.body import FunctionBody
from probes.code.make_body import CodeContext, PartCode, make_parts
from probes.code.rows import code_rows
from probes.code.ways_out import ways_out_text
from probes.functions.capture_tree import CaptureTree
from probes.objects.elf_object import ObjectError
from probes.objects.object_file import read_object
from probes.objects.record_fields import choose_record
from probes.objects.shown_maps import shown_map
from probes.presets.errors import PresetError
from probes.presets.read import read_preset
from probes.presets.write import edited
from probes.probe import ProbePlace
from probes.programs.elf_symbols import ProgramError, read_program
from probes.readable.variables import place_variables, variable_lines
from tests.btf_writer import every_kind
from tests.events_data import archive, captured
from tests.fake_target import HEADER_PAGE, FakeTarget
from tests.fuzz import material
from tests.fuzz.mutation import damaged, damaged_text, damaged_value
from widgets.terminal.emulator import Emulator

_CODE = range(0xFFFF_FFFF_8100_0000, 0xFFFF_FFFF_8100_00D3)
"""Addresses in the files of dwarf.tar.xz."""
_INSTRUCTIONS = (0x401040, 0x4010A0, 0x401100, 0x401180, 0x401210, 0x401298, _CODE[0], _CODE[0x40])
"""Addresses in the files of variables.tar.xz and of dwarf.tar.xz."""


class Kind(NamedTuple):
    """One sort of input."""

    make: Callable[[Random], bytes]
    feed: Callable[[bytes], object]
    """Takes it; raises one of `refusals`, or gives what becomes part of the outcome's name."""
    refusals: tuple[type[Exception], ...]
    share: int = 2
    """How many of them there are among all inputs."""


# -- what the core reads -----------------------------------------------------------------------------------------


def _btf(data: bytes) -> str:
    """Ask for everything; a refusal of one thing does not hide what comes of the next."""
    types = Btf.load(data)
    refused = [_refused(look, types, number) for number in range(min(types.end_id, 200)) for look in _LOOKS]
    return "refused in part" if any(refused) else ""


def btf_of_screens(data: bytes) -> str:
    """As `_btf`, by types as the screens have them: nothing is raised once they are loaded."""
    try:
        types = Btf.load(data, damage=Damage(is_raised=False))
    except BtfError:
        return "no types"
    for number in range(min(types.end_id, 200)):
        for look in _LOOKS:
            with contextlib.suppress(PathError):
                look(types, number)
    return "told" if types.damage.first else ""


def _refused(look: Callable[[Btf, int], object], types: Btf, number: int) -> bool:
    try:
        look(types, number)
    except (BtfError, PathError):
        return True
    return False


def _prototype(types: Btf, number: int) -> None:
    function = types.function(types.functions[number]) if number < len(types.functions) else None
    if function is not None:
        prototype(types, function)


def _record(types: Btf, number: int) -> None:
    if number == 1:
        functions_using(types, "record")
        Namer(types, lambda: None, "x86_64")


def _tree(types: Btf, number: int) -> None:
    for name in types.functions[number : number + 1]:
        tree = CaptureTree(types, name, "x86_64")
        for node in tree.roots()[:8]:
            for child in tree.children(node)[:8]:
                tree.children(child)


_TERMINAL = (
    "\x1b[1;31mred\x1b[0m\r\n\x1b[2;5Hx\x1b[6n\x1b[?1049h",
    "\x1b]0;title\x07\x1b[3;4r\x1b[38;5;200m\x1b7\x1b[2L\x1b8",
)
"""Output of commands."""


def _terminal(data: bytes) -> str:
    """Draw output of a command; its lines are no more and no longer than the terminal has."""
    emulator = Emulator(6, 30, 20)
    emulator.feed(data)
    lines = emulator.text().split("\n")
    return "too much" if len(lines) > 26 or max(map(len, lines)) > 30 else ""


_LOOKS: tuple[Callable[[Btf, int], object], ...] = (
    definition,
    children,
    fields,
    c_type,
    size_of,
    is_complete,
    _prototype,
    _record,
    lambda types, number: enum_name(types, number, 5),
    lambda types, number: resolve(types, number, [("->", "inner"), (".", "value")]),
    lambda types, number: resolve(types, number, [("->", "matrix"), ("[", "1")]),
    lambda types, number: find_field(types, number, "word"),
    _tree,
)


def _format(data: bytes) -> None:
    fmt = parse_format(data.decode("utf-8", "replace"), "pw", 8)
    text_values("(vfs_read+0x0/0x1) file=1 (2) ret=-1 name=x", fmt)


def _header(data: bytes) -> None:
    HeaderPage.parse(data.decode("utf-8", "replace"))


def _pages(data: bytes) -> None:
    real = captured("7.2", "mixed")
    store = Store(real.decoder, 1 << 24)
    half = len(data) // 2 // 4096 * 4096
    store.feed(Batch((Chunk(0, data[:half]), Chunk(1, data[half:])), drained=True))
    store.flush()
    for seq in range(store.first_seq, min(store.next_seq, store.first_seq + 50)):
        row = store.row(seq)
        detail(store.record(seq))
        str(row)
    if len(store):
        store.columns(store.first_seq, store.next_seq)
        store.task_names.all_names  # noqa: B018 - a property that reads


def _lines(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    store = Store(Decoder(captured("7.2", "mixed").decoder.formats, HeaderPage()), 1 << 24)
    store.feed(Batch((Chunk(-1, data, True),), drained=True))
    store.flush()
    for seq in range(store.first_seq, min(store.next_seq, store.first_seq + 50)):
        store.record(seq)
    for line in text.split("\n")[:100]:
        parse_line(line)
        parse_lost(line)


def _small(data: bytes) -> None:
    """Files of a kernel that come as text, whichever this was."""
    text = data.decode("utf-8", "surrogateescape")
    parse_hist(text)
    parse_stats(text)
    match_profile(text, parse_dynamic_events(text))
    parse_error_log(text)
    symbols = Symbols.parse(data)
    if symbols:
        symbols.named("_text")
        symbols.find(0xFFFFFFFF81000010)
    unpack_cgroups(data)
    parse_journal(data)


def _code(data: bytes) -> str:
    """Decode bytes as a function of one architecture, and write it."""
    machine = list(ARCHITECTURES)[data[0] % len(ARCHITECTURES)]
    parts = make_parts(
        [PartCode("f", ProbePlace("f"), 0xFFFFFFFF81000000, data)], CodeContext(machine, hex, (), False)
    )
    body = FunctionBody("f", "", machine, parts)
    code_rows(body)
    assert ways_out_text(body)
    return ""


def _program(data: bytes) -> None:
    """Read a program, its places, and the arguments of its static probes."""
    found = read_program(data)
    for name in found.places:
        if ":" in name:
            found.arguments(name)


def _object(data: bytes) -> None:
    """Read an object, the records of its buffers, and elements of its maps."""
    found = read_object(data)
    for one in found.maps:
        if one.has_records:
            layout = choose_record(found, one).layout
            parse_format(layout.format_text("event", 1, layout.size))
        elif one.is_table:
            shown_map(found.btf, one, [(bytes(one.key_size % 4096), (bytes(one.value_size % 4096),))])


def _debug_information(data: bytes) -> str:
    """Look for inlined copies, for the lines of all code, for the code of lines, and for variables."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        opened = DebugFile(Path(file.name))
    with contextlib.closing(opened):
        told = ""

        def variables(address: int) -> None:
            variable_lines(place_variables(opened.variables(address), hex))

        asked: list[Callable[[], object]] = [partial(variables, address) for address in _INSTRUCTIONS]
        asked += [partial(opened.code_of_line, name, line) for name, line in (("a.c", 4), ("variables.c", 17))]
        for ask in (lambda: opened.inlined("only_inlined"), lambda: opened.source_lines(_CODE), *asked):
            try:
                ask()
            except DwarfError:
                told = "in part"
    return told


def _recording(data: bytes) -> None:
    recording = Recording.open(data)
    target = RecordingTarget(recording, "x")
    target.facts()
    target.btf()
    session = ReplaySession(target.recording)
    session.counts()
    session.cmdlines()
    armed = session.probes.armed
    store = Store(Decoder({}, session.header), 1 << 24)
    for one in armed:
        store.use(one.formats)
    while not session.pump.done:
        for entry in session.pump.drain(1 << 20):
            if isinstance(entry, Batch):
                store.feed(entry)
            else:
                store.use(entry)
    store.flush()
    for seq in range(store.first_seq, min(store.next_seq, store.first_seq + 20)):
        detail(store.record(seq))
    if recording.symbols:
        recording.symbols.find(0xFFFFFFFF81000010)


def _facts(data: bytes) -> None:
    plain = json.loads(data)
    gather(FakeTarget({path: text.encode("utf-8", "surrogatepass") for path, text in plain.items()}))


def _tar(data: bytes) -> None:
    read_tar(data, "x.tar")


def _preset(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    edited(text, read_preset(text))


def _inventory(data: bytes) -> None:
    found = read_inventory(data.decode("utf-8", "replace"))
    for group in ("all", *list(found.groups)[:4]):
        found.targets(group)


def _groups(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "inventory").write_text(material.INVENTORY)
        of_ssh = b"[hosts" not in data
        (folder / "config.toml").write_bytes(b"" if of_ssh else data)
        (folder / "ssh").write_bytes(data if of_ssh else material.SSH_CONFIG.encode())
        groups = HostGroups(folder / "config.toml", folder / "ssh")
        refused = None
        for name in ("ssh:web*",) if of_ssh else ("web", "lab"):
            try:
                groups.targets(name)
            except GroupError as error:
                refused = error
    if refused is not None:
        raise refused


# -- how they are made -------------------------------------------------------------------------------------------


def _bytes_of(whole: Callable[[], bytes]) -> Callable[[Random], bytes]:
    return lambda random: damaged(whole(), random)


def _text_of(*whole: str) -> Callable[[Random], bytes]:
    return lambda random: damaged_text(random.choice(whole), random).encode("utf-8", "surrogatepass")


def damaged_blob(random: Random) -> bytes:
    """A recording of which one blob is damaged."""
    blobs = material.parts().blobs
    key = random.choice(list(blobs))
    if key[0] == "btf" or random.random() < 0.3:
        return material.recording(blobs={key: damaged(blobs[key], random)})
    text = damaged_text(blobs[key].decode("utf-8", "surrogateescape"), random)
    return material.recording(blobs={key: text.encode("utf-8", "backslashreplace")})


def damaged_meta(random: Random) -> bytes:
    """A recording with other metadata: values of other types, or JSON that is none."""
    plain = damaged_value(material.parts().meta, random)
    try:
        text = json.dumps(plain)
    except ValueError:  # a circle
        text = "{}"
    return material.recording(
        damaged_text(text, random).encode("utf-8", "replace") if random.random() < 0.3 else text.encode()
    )


def damaged_chunks(random: Random) -> bytes:
    """A recording of which any byte may be another."""
    return damaged(material.recording(), random)


def damaged_passes(random: Random) -> bytes:
    """A recording of whose passes any byte may be another."""
    return material.recording(pages=damaged(material.parts().pages, random))


def damaged_facts(random: Random) -> bytes:
    files = material.machine()
    for path in random.sample(list(files), random.choice((1, 2, 5))):
        files[path] = damaged_text(files[path], random)
    return json.dumps(files).encode()


def damaged_tar(random: Random) -> bytes:
    whole = material.plain_tar()
    if random.random() < 0.3:
        return damaged(lzma.compress(whole, preset=0), random)
    return lzma.compress(damaged(whole, random), preset=0)


def damaged_program(random: Random) -> bytes:
    files = [data for data in archive("programs.tar.xz").values() if data.startswith(b"\x7fELF")]
    return damaged(random.choice(files), random)


def damaged_debug_file(random: Random) -> bytes:
    """A file with debug information of which any byte may be another, most often of this information."""
    files = [*archive("dwarf.tar.xz").items(), *archive("variables.tar.xz").items()]
    whole = random.choice([data for name, data in files if name.endswith(".elf")])
    if random.random() < 0.2:
        return damaged(whole, random)
    begin = whole.index(b"\0.debug_info\0") if random.random() < 0.2 else len(whole) // 3
    return whole[:begin] + damaged(whole[begin:], random)


def damaged_object(random: Random) -> bytes:
    return damaged(random.choice(list(archive("objects.tar.xz").values())), random)


def _real_pages() -> bytes:
    return b"".join(data[: 6 * 4096] for data in captured("7.2", "mixed").raw.values())


def _real_lines() -> str:
    return "\n".join([line for lines in captured("7.2", "mixed").text.values() for line in lines[:40]])


def damaged_inventory(random: Random) -> bytes:
    if random.random() < 0.4:
        return json.dumps(damaged_value(material.INVENTORY_JSON, random)).encode()
    return _text_of(material.INVENTORY)(random)


_OF_TARGET = (KernelError, RecordingError, InputRefusal)

_BOOTCONFIG = """\
# theirs
kernel { root = /dev/sda1; quiet } init.splash
a.b = "x y", 'q"r', 3
a.b += z # note
ftrace.instance.i { event.kprobes.e { probes = "vfs_read count"; enable } }
"""


def _bootconfig(data: bytes) -> str:
    return "keys" if parse_bootconfig(data.decode("utf-8", "replace")) else "none"


def _initrd(data: bytes) -> str:
    found = find_tail(data, len(data))
    if found is None:
        return "none"
    parse_bootconfig(found.text)
    return "found"


KINDS: dict[str, Kind] = {
    "btf": Kind(_bytes_of(every_kind), _btf, (BtfError, PathError), 4),
    "format": Kind(_text_of(*material.formats()), _format, (FormatError,), 3),
    "header page": Kind(_text_of(HEADER_PAGE), _header, (FormatError,), 1),
    "pages": Kind(_bytes_of(_real_pages), _pages, (), 3),
    "lines": Kind(_text_of(_real_lines()), _lines, (), 2),
    "small files": Kind(_text_of(*material.small_files()), _small, (InputRefusal,), 3),
    "program": Kind(damaged_program, _program, (ProgramError,), 3),
    "debug file": Kind(damaged_debug_file, _debug_information, (DwarfError,), 3),
    "object": Kind(damaged_object, _object, (ObjectError, BtfError, FormatError), 2),
    "meta": Kind(damaged_meta, _recording, (*_OF_TARGET,), 3),
    "blobs": Kind(damaged_blob, _recording, (*_OF_TARGET, FormatError), 3),
    "chunks": Kind(damaged_chunks, _recording, _OF_TARGET, 2),
    "passes": Kind(damaged_passes, _recording, _OF_TARGET, 2),
    "facts": Kind(damaged_facts, _facts, (TargetUnusable, InputRefusal), 3),
    "code": Kind(lambda rng: rng.randbytes(rng.randrange(1, 400)), _code, (), 2),
    "tar": Kind(damaged_tar, _tar, (InputRefusal,), 2),
    "presets": Kind(_text_of(*material.presets()), _preset, (PresetError,), 2),
    "inventories": Kind(damaged_inventory, _inventory, (GroupError,), 2),
    "bootconfig": Kind(_text_of(_BOOTCONFIG), _bootconfig, (BootconfigError,), 2),
    "initrd": Kind(_bytes_of(lambda: b"cpio" + tail(_BOOTCONFIG, 4)), _initrd, (BootconfigError,), 2),
    "terminal": Kind(_text_of(*_TERMINAL), _terminal, (), 2),
    "groups": Kind(_text_of(material.CONFIGURATION, material.SSH_CONFIG), _groups, (GroupError,), 2),
}
