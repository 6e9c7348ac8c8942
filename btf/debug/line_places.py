"""Find the code of a line of source: of every compilation unit that has code of the file, inlined copies included.

A kernel's line programs are thirty megabytes, so that those of the file are found by its name before any is run.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import islice
from struct import Struct
from typing import Any, Final, NamedTuple

from btf.debug.dwarf import DwarfError
from btf.debug.line_rows import LineRow, file_path, line_rows
from btf.debug.parts import DAMAGE, DebugSection, WorkBound
from btf.debug.scopes import dwarf_of
from foreign.text import encode_text

_HEADER: Final = Struct("<IH")
_AFTER_VERSION: Final = _HEADER.size
_NAMES: Final = (".debug_line_str", ".debug_str")
"""Sections with the names of files, to which line programs of DWARF 5 point; those of DWARF 4 have them in place."""
_MOST_NAMES: Final = 500
"""Maximum occurrences of the file's name, which others may end with as well."""
_SEARCHED_AT_ONCE: Final = 1 << 12
"""Bytes that a search passes in the time that one read of a number takes."""


class CodeOfLine(NamedTuple):
    """Code of a line of source."""

    files: tuple[str, ...]
    """Paths of the files that the name means, as in the build: one, unless the name is ambiguous or unknown."""
    addresses: tuple[int, ...] = ()
    """Link-time addresses where the line begins, ascending; empty: it has no code, or the file is not certain."""
    nearest: tuple[int, ...] = ()
    """Lines of the file before and behind it that have code."""


class _LoneProgram:
    """Compilation unit of which only the line program is known, as pyelftools asks for it."""

    def __init__(self, structs: Any, start: int) -> None:  # noqa: ANN401 - of pyelftools
        self.structs = structs
        self.attributes = {"DW_AT_stmt_list": _Offset(start)}

    def get_top_DIE(self) -> _LoneProgram:  # noqa: N802 - pyelftools' name
        return self


class _Offset(NamedTuple):
    value: int


def code_of_line(parts: Mapping[str, DebugSection], name: str, line: int, work: WorkBound) -> CodeOfLine:
    """Return the code of a line.

    Args:
        parts: sections by name.
        name: the file's name, with as much of its path as is needed: `read_write.c`, `fs/read_write.c`.
        line: from 1.
        work: bounds the reads.

    Raises:
        DwarfError: there is no usable debug information.
    """
    try:
        found = [*_programs(parts, name, work)]
        paths = dict.fromkeys(path for _, numbers in found for path in numbers.values())
        files = (name,) if name in paths else tuple(paths)
        if len(files) != 1:
            return CodeOfLine(files)
        lines = parts[".debug_line"]
        addresses, others = set[int](), set[int]()
        for program, numbers in found:
            wanted = {number for number, path in numbers.items() if path == files[0]}
            for row in _first_rows(line_rows(program, lines), wanted, work):
                (addresses if row.line == line else others).add(row.address if row.line == line else row.line)
    except DAMAGE as error:
        raise DwarfError(str(error) or type(error).__name__) from error
    before, behind = max((n for n in others if n < line), default=0), min((n for n in others if n > line), default=0)
    return CodeOfLine(files, tuple(sorted(addresses)), tuple(filter(None, (before, behind))))


def _first_rows(rows: Iterable[LineRow], wanted: Set[int], work: WorkBound) -> Iterator[LineRow]:
    """Yield the rows of some files at which a statement begins, each line once as long as no other one comes."""
    before: LineRow | None = None
    for row in sorted(rows, key=lambda row: row.address):
        work.take(1)
        is_same = before is not None and (before.file, before.line) == (row.file, row.line)
        if row.file in wanted and row.begins_statement and row.line and not is_same:
            yield row
        before = row


def _programs(parts: Mapping[str, DebugSection], name: str, work: WorkBound) -> Iterator[tuple[Any, dict[int, str]]]:
    """Yield the line programs that have files of the name, with the numbers and paths of these."""
    dwarf = dwarf_of(parts, work)
    for start in sorted(_program_starts(parts, name, work)):
        unit = _LoneProgram(dwarf.structs, start)
        program = dwarf.line_program_for_CU(unit)
        first = 0 if program.header.version >= 5 else 1
        paths = {
            first + number: path
            for number, entry in enumerate(program.header.file_entry)
            if entry.name.endswith(encode_text(posixpath.basename(name)))
            and _is_of(name, path := file_path(program, unit, first + number))
        }
        if paths:
            yield program, paths


def _is_of(name: str, path: str) -> bool:
    return path == name or path.endswith(f"/{name}")


def _program_starts(parts: Mapping[str, DebugSection], name: str, work: WorkBound) -> Iterator[int]:
    """Yield the offsets of the line programs whose headers name the file, or have the same bytes by chance."""
    base = encode_text(posixpath.basename(name))
    wanted = {
        at
        for section in (parts[name] for name in _NAMES if name in parts)
        for place in islice(section.places(base + b"\0"), _MOST_NAMES)
        for at in _beginnings(section, place)
    }
    at, lines = 0, parts[".debug_line"]
    while at + _HEADER.size <= len(lines):
        length, version = _HEADER.unpack(lines[at : at + _HEADER.size])
        begin = at + (_AFTER_VERSION + 2 if version >= 5 else _AFTER_VERSION) + 4
        size = int.from_bytes(lines[begin - 4 : begin], "little")
        header = lines[begin : min(begin + size, at + 4 + length)]
        work.take(1 + len(header) // _SEARCHED_AT_ONCE)
        # Names are numbers of four bytes at any distance, so that four arrays of these have all of them.
        words = (memoryview(header[i : len(header) - (len(header) - i) % 4]).cast("I") for i in range(4))
        if base in header or not all(map(wanted.isdisjoint, words)):
            yield at
        at += 4 + length


def _beginnings(names: DebugSection, place: int) -> Iterator[int]:
    """Yield the offsets at which a name may be meant that ends there: its own, and those of folders before it."""
    yield place
    before = names[max(place - 1024, 0) : place]
    text = before[before.rfind(b"\0") + 1 :]
    if text.endswith(b"/"):
        at = place - len(text)
        yield at
        yield from (at + i + 1 for i, byte in enumerate(text[:-1]) if byte == ord("/"))
