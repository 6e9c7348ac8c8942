"""Each error that a reader of damaged debug information may raise has a file that makes it so, and none leaves it."""

from __future__ import annotations

import contextlib
import io
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile

from btf.debug import inlined, line_places, source_lines, variables
from btf.debug.dwarf import READER_ERRORS, DwarfError
from btf.debug.inlined import DebugFile
from btf.debug.parts import DAMAGE
from probes.objects import debug_structs
from tests.pure.btf.test_debug_bounds import RANGES, TOP, TOP_LAYOUT, rebuilt, unit
from tests.pure.btf.test_inlined import folder
from tests.pure.btf.test_source_lines import CODE

__all__ = ["folder"]


def lines(file: DebugFile) -> object:
    return file.source_lines(CODE)


def code(file: DebugFile) -> object:
    return file.code_of_line("a.c", 20)


class Byte(NamedTuple):
    """Byte of a section that is another one."""

    file: str
    section: str
    place: int
    value: int
    ask: Callable[[DebugFile], object] = lines

    def damaged(self, folder: Path) -> bytes:
        data = bytearray((folder / self.file).read_bytes())
        elf: Any = ELFFile(io.BytesIO(bytes(data)))
        data[elf.get_section_by_name(self.section)["sh_offset"] + self.place] = self.value
        return bytes(data)


BYTES = {
    ELFError: Byte("dwarf-4.elf", ".debug_ranges", 86, 255),
    DWARFError: Byte("dwarf-5.elf", ".debug_aranges", 8, 127),
    AssertionError: Byte("dwarf-4.elf", ".debug_abbrev", 329, 255),
    AttributeError: Byte("dwarf-5.elf", ".debug_line", 318, 127, code),
    IndexError: Byte("dwarf-5.elf", ".debug_line", 269, 128),
    KeyError: Byte("dwarf-4.elf", ".debug_abbrev", 309, 128),
    NotImplementedError: Byte("dwarf-4.elf", ".debug_aranges", 11, 128),
    TypeError: Byte("dwarf-5.elf", ".debug_line", 42, 255),
    ZeroDivisionError: Byte("dwarf-4.elf", ".debug_line", 258, 255),
}


def read(path: Path, data: bytes, ask: Callable[[DebugFile], object]) -> None:
    path.write_bytes(data)
    with contextlib.closing(DebugFile(path)) as file:
        ask(file)


def without(monkeypatch: pytest.MonkeyPatch, kind: type[Exception]) -> None:
    """Let an error pass."""
    for module in (inlined, line_places, source_lines, variables):
        monkeypatch.setattr(module, "DAMAGE", tuple(one for one in DAMAGE if one is not kind))
    monkeypatch.setattr(debug_structs, "READER_ERRORS", tuple(one for one in READER_ERRORS if one is not kind))


def check(monkeypatch: pytest.MonkeyPatch, kind: type[Exception], ask: Callable[[], object]) -> None:
    """Check that a question raises an error of this kind, and that DwarfError takes its place."""
    with monkeypatch.context() as patch:
        without(patch, kind)
        with pytest.raises(kind):
            ask()
    with pytest.raises(DwarfError):
        ask()


@pytest.mark.parametrize("kind", BYTES, ids=lambda kind: kind.__name__)
def test_one_byte(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]) -> None:
    damage = BYTES[kind]
    check(monkeypatch, kind, lambda: read(tmp_path / "x", damage.damaged(folder), damage.ask))


def test_lines_in_front_of_their_section(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line program at -1."""
    layout = TOP_LAYOUT[:8] + b"\x0d" + TOP_LAYOUT[9:]  # its place is a number with a sign
    body = TOP[:-4] + b"\x7f\0"
    info = struct.pack("<IHBBI", 8 + len(body), 5, 1, 8, 0) + body
    whole = (folder / "dwarf-5.elf").read_bytes()
    lies = rebuilt(whole, debug_info=info, debug_abbrev=layout + b"\0", debug_aranges=RANGES)
    check(monkeypatch, ValueError, lambda: read(tmp_path / "x", lies, lines))


def structs_of(data: bytes) -> dict[str, debug_structs.DebugStruct]:
    return debug_structs.debug_structs.__wrapped__(data)


def deep(whole: bytes) -> bytes:
    """A struct with entries in each other."""
    table = TOP_LAYOUT + bytes([2, 0x13, 1, 0x03, 0x08, 0x0B, 0x0B, 0, 0, 3, 0x0B, 1, 0, 0, 0])
    return rebuilt(whole, debug_info=unit(b"\2s\0\4" + b"\3" * 4000 + b"\0" * 4002), debug_abbrev=table)


def endless(whole: bytes) -> bytes:
    """A section that unpacks to more bytes than there are numbers for."""
    lies = rebuilt(whole, packed=True, debug_str=b"few")
    at = lies.rindex(struct.pack("<IIQ", 1, 0, 3))
    return lies[: at + 8] + b"\xff" * 8 + lies[at + 16 :]


@pytest.mark.parametrize(("kind", "damaged"), [(RecursionError, deep), (OverflowError, endless)])
def test_structs_of_objects(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Exception], damaged: Callable[[bytes], bytes]
) -> None:
    lies = damaged((folder / "dwarf-5.elf").read_bytes())
    assert structs_of(lies) == {}
    without(monkeypatch, kind)
    with pytest.raises(kind):
        structs_of(lies)


def test_structs_of_packed_bytes_that_are_none(folder: Path) -> None:
    lies = rebuilt((folder / "dwarf-5.elf").read_bytes(), packed=True, debug_str=b"few" * 100)
    at = lies.rindex(struct.pack("<IIQ", 1, 0, 300))
    assert structs_of(lies[: at + 24] + b"\xff" * 16 + lies[at + 40 :]) == {}


def test_no_error_is_taken_for_damage_without_a_file_that_raises_it() -> None:
    assert {*READER_ERRORS} == {*BYTES, ValueError, RecursionError, OverflowError} - {ELFError, DWARFError}
