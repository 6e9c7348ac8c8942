"""Find where a function was inlined, from the debug information of a kernel's vmlinux."""

from __future__ import annotations

import itertools
import mmap
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from elftools.common.exceptions import ELFError
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
from foreign.text import encode_text

_TAGS = frozenset({SUBPROGRAM, INLINED_SUBROUTINE})
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


class _Part:
    """Section that can be searched and viewed."""

    def __init__(self, source: mmap.mmap | bytes, start: int, size: int) -> None:
        self._source, self._start, self._end = source, start, start + size
        self.view = memoryview(source)[start : self._end]

    def places(self, wanted: bytes) -> Iterator[int]:
        """Yield the offset of every occurrence of some bytes."""
        at = self._source.find(wanted, self._start, self._end)
        while at >= 0:
            yield at - self._start
            at = self._source.find(wanted, at + 1, self._end)


class DebugFile:
    """Memory-mapped vmlinux with debug information; `close` unmaps it."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            DwarfError: it has no usable debug information.
            OSError: it cannot be read.
        """
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._parts: list[_Part] = []
        try:
            elf: Any = ELFFile(cast("IO[bytes]", self._map))
            self.build_id = next((build_id(s.data()) for s in elf.iter_sections("SHT_NOTE")), b"")
            text = elf.get_section_by_name(".text")
            self.text = int(text["sh_addr"]) if text is not None else 0
            """Address of .text."""
            self._info = self._part(elf, ".debug_info")
            self._abbreviations = self._part(elf, ".debug_abbrev")
            self._strings = self._part(elf, ".debug_str")
            self._units = list(units(self._info.view))
        except (ELFError, DwarfError) as error:
            self.close()
            raise DwarfError(f"{path}: {error}") from error

    def _part(self, elf: ELFFile, name: str) -> _Part:
        section: Any = elf.get_section_by_name(name)
        if section is None or section["sh_type"] == "SHT_NOBITS":
            raise DwarfError(f"no {name}")
        if section.compressed:
            data = section.data()
            part = _Part(data, 0, len(data))
        else:
            part = _Part(self._map, int(section["sh_offset"]), int(section["sh_size"]))
        self._parts.append(part)
        return part

    def close(self) -> None:
        """Unmap the file; repeated calls are allowed."""
        for part in self._parts:
            part.view.release()
        self._map.close()

    def inlined(self, name: str, go_on: Callable[[float], bool] = lambda _: True) -> Inlined | None:
        """Find a function and its inlined copies; return None if `go_on`, called with the share that is done,
        returned False.

        Raises:
            DwarfError: the data is invalid or not supported.
        """
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

        return source_lines(cast("IO[bytes]", self._map), addresses)

    def _units_with(self, strings: list[int]) -> list[Unit]:
        """Return the units that contain one of the string offsets, or by chance the same four bytes."""
        starts = [unit.start for unit in self._units]
        places = (at for string in strings for at in self._info.places(string.to_bytes(4, "little")))
        return [self._units[i] for i in sorted({bisect_right(starts, at) - 1 for at in places}) if i >= 0]

    def _in_unit(self, unit: Unit, strings: frozenset[int]) -> tuple[bool, set[int]]:
        functions, copies = set[int](), list[tuple[int, int]]()
        table = abbreviations(self._abbreviations.view, unit.abbreviations)
        for entry in entries(self._info.view, unit, table, _TAGS):
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
