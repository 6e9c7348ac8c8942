"""Find where a function was inlined, from the debug information of a kernel's vmlinux."""

from __future__ import annotations

import contextlib
import itertools
import os
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from elftools.elf.elffile import ELFFile

from btf.debug.dwarf import (
    ABSTRACT_ORIGIN,
    ENTRY_PC,
    INLINED_SUBROUTINE,
    LOW_PC,
    NAME,
    SUBPROGRAM,
    DwarfError,
    SourceLine,
    Unit,
    abbreviations,
    entries,
    units,
)
from btf.debug.parts import DAMAGE, LINE_SECTIONS, VARIABLE_SECTIONS, DebugSection, WorkBound, parts_of
from btf.elf import section_headers
from btf.errors import BtfError
from foreign.files import opened_file
from foreign.refusal import InputRefusal
from foreign.text import encode_text

if TYPE_CHECKING:
    from btf.debug.line_places import CodeOfLine
    from btf.debug.variables import LocalVariable

_TAGS = frozenset({SUBPROGRAM, INLINED_SUBROUTINE})
_SEARCHED = (".debug_info", ".debug_abbrev", ".debug_str")
_NOTES = (".notes", ".note.gnu.build-id")
_MOST_NOTES = 1 << 16
"""Bytes of notes that are looked at."""
_SECTIONS = frozenset(name.encode() for name in (".text", *_NOTES, *_SEARCHED, *LINE_SECTIONS))
_VARIABLE_SECTIONS = frozenset(name.encode() for name in VARIABLE_SECTIONS)
_LARGEST = 8 << 30
"""Maximum bytes of a file; a kernel's are up to one billion."""
_WORK_OF_BYTE, _LEAST_WORK = 8, 4 << 20
"""Bytes that a search may look at for each byte on the disk (packed debug information unpacks to four times as much),
and for a small file."""
_SEARCHED_AT_ONCE = 32
"""Bytes that a search for a number passes in the time in which one byte of entries is read."""
_WORK_OF_TABLE = 1000
"""Bytes of entries that are read in the time that a table of abbreviations takes."""
_LEAST_READS, _BYTES_OF_READ = 1 << 18, 256
"""Numbers and texts that are read for source lines: of a small file, and one more for so many bytes on the disk."""
_MOST_STRINGS = 2000
"""Maximum occurrences of the name in the string table, where it is a suffix of other names as well."""
_BUILD_ID = 3
"""Note type NT_GNU_BUILD_ID."""


class Inlined(NamedTuple):
    """Debug information about a function."""

    known: bool
    """True if there is a function of that name."""
    addresses: tuple[int, ...]
    """Link-time start addresses of the inlined copies, ascending."""


class DebugFile:
    """Open vmlinux with debug information, of which is read what is asked for; `close` closes it."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            DwarfError: it has no usable debug information.
            OSError: it cannot be read.
        """
        try:
            opened = contextlib.ExitStack()
            self._file, size = opened.enter_context(opened_file(path, _LARGEST))
        except InputRefusal as error:
            raise DwarfError(str(error)) from error
        self._closing = weakref.finalize(self, opened.close)
        self._on_disk = min(size, os.fstat(self._file.fileno()).st_blocks * 512)
        self._parts: dict[str, DebugSection] = {}
        self._work = WorkBound(_WORK_OF_BYTE * self._on_disk + _LEAST_WORK)
        """Bytes that a search for a function looks at."""
        try:
            elf: Any = ELFFile(self._file)
            headers = section_headers(elf, _SECTIONS)
            self._parts.update(parts_of(elf, self._file.fileno(), headers))
            self._machine = str(elf["e_machine"])
            notes = (self._parts[name][:_MOST_NOTES] for name in _NOTES if name in self._parts)
            self.build_id = next(filter(None, map(build_id, notes)), b"")
            self.text = int(headers[b".text"]["sh_addr"]) if b".text" in headers else 0
            """Address of .text."""
            self._info, self._abbreviations, self._strings = map(self._part, _SEARCHED)
            self._units = list(units(self._info))
        except (*DAMAGE, BtfError, DwarfError) as error:
            self.close()
            raise DwarfError(f"{path}: {error}") from error
        except OSError:
            self.close()
            raise

    def _part(self, name: str) -> DebugSection:
        if name not in self._parts:
            raise DwarfError(f"no {name}")
        return self._parts[name]

    def close(self) -> None:
        """Close the file; repeated calls are allowed. It is closed, too, once nobody holds this object."""
        self._closing()

    def inlined(self, name: str, go_on: Callable[[float], bool] = lambda _: True) -> Inlined | None:
        """Find a function and its inlined copies; return None if `go_on`, called with the share that is done,
        returned False.

        Raises:
            DwarfError: the data is invalid or not supported.
        """
        self._work.begin()
        strings = list(itertools.islice(self._strings.places(encode_text(name) + b"\0"), _MOST_STRINGS))
        wanted = self._units_with(strings)
        is_any_known, found = False, set[int]()
        for done, unit in enumerate(wanted):
            if not go_on(done / len(wanted)):
                return None
            is_known, addresses = self._in_unit(unit, frozenset(strings))
            is_any_known, found = is_any_known or is_known, found | addresses
        return Inlined(is_any_known, tuple(sorted(found)))

    def source_lines(self, addresses: Iterable[int]) -> dict[int, SourceLine]:
        """Return the source line of each link-time address that has one. Raises DwarfError."""
        from btf.debug.source_lines import source_lines  # imports a reader of all of DWARF

        return source_lines(self._parts, addresses, self._reads())

    def code_of_line(self, name: str, line: int) -> CodeOfLine:
        """Return the code of a line of a file, given by its name or the end of its path. Raises DwarfError."""
        from btf.debug.line_places import code_of_line  # imports a reader of all of DWARF

        return code_of_line(self._parts, name, line, self._reads())

    def variables(self, address: int) -> tuple[LocalVariable, ...]:
        """Return the parameters and local variables that are in scope at a link-time address. Raises DwarfError."""
        from btf.debug.variables import variables_at  # imports a reader of all of DWARF

        try:
            elf: Any = ELFFile(self._file)
            headers = section_headers(elf, _VARIABLE_SECTIONS)
            wanted = {name: header for name, header in headers.items() if name.decode() not in self._parts}
            self._parts.update(parts_of(elf, self._file.fileno(), wanted))  # not before: they may be packed
            starts = {name.decode(): int(header["sh_addr"]) for name, header in headers.items()}
        except (*DAMAGE, BtfError, OSError) as error:
            raise DwarfError(str(error)) from error
        return variables_at(self._parts, starts, self._machine, address, self._reads())

    def _reads(self) -> WorkBound:
        """Return the bound on numbers and texts that are read for one question."""
        return WorkBound(_LEAST_READS + self._on_disk // _BYTES_OF_READ)

    def _units_with(self, strings: list[int]) -> list[Unit]:
        """Return the units that contain one of the string offsets, or by chance the same four bytes."""
        starts = [unit.start for unit in self._units]
        found = set[int]()
        for string in strings:
            self._work.take(len(self._info) // _SEARCHED_AT_ONCE)
            for at in self._info.places(string.to_bytes(4, "little")):
                self._work.take(1)
                found.add(bisect_right(starts, at) - 1)
        return [self._units[i] for i in sorted(found) if i >= 0]

    def _in_unit(self, unit: Unit, strings: frozenset[int]) -> tuple[bool, set[int]]:
        self._work.take(unit.end - unit.start + _WORK_OF_TABLE)
        functions, copies = set[int](), list[tuple[int, int]]()
        table = abbreviations(self._abbreviations, unit.abbreviations)
        for entry in entries(self._info, unit, table, _TAGS):
            values = entry.values
            if entry.tag == SUBPROGRAM:
                if values.get(NAME) in strings:
                    functions.add(entry.offset)
            elif ABSTRACT_ORIGIN in values:
                address = values.get(ENTRY_PC, values.get(LOW_PC, 0))
                if address:
                    copies.append((values[ABSTRACT_ORIGIN], address))
        return bool(functions), {address for origin, address in copies if origin in functions}


def build_id(notes: bytes) -> bytes:
    """Return the build id in ELF notes (a section, or /sys/kernel/notes); empty: none."""
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = (int.from_bytes(notes[at + i : at + i + 4], "little") for i in (0, 4, 8))
        name = at + 12
        content = name + (name_size + 3 & ~3)
        if kind == _BUILD_ID and notes[name : name + 4] == b"GNU\0":
            return notes[content : content + size]
        at = content + (size + 3 & ~3)
    return b""
