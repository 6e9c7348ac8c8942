"""Look up the source lines of code, and the calls that were inlined there, in the debug information of a vmlinux.

pyelftools reads headers and entries: only those of the compilation units asked for, a second each.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from btf.debug.dwarf import DwarfError, SourceLine, unsigned_leb
from btf.debug.parts import DAMAGE, Part, Work
from btf.debug.scopes import INLINED, by_unit, dwarf_of, entries_around, name_of, spans_of

_LONGEST_PROGRAM: Final = 2 << 20
"""Maximum bytes of the line program of a compilation unit."""
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _CONST_ADD_PC, _FIXED_ADVANCE_PC = 1, 2, 3, 4, 8, 9
"""Opcodes DW_LNS_*; those of others have operands alone that are skipped."""
_END_SEQUENCE, _SET_ADDRESS = 1, 2
"""Extended opcodes DW_LNE_*."""


class _Row(NamedTuple):
    address: int
    file: int
    """Number of the file in the line program; -1: no code follows up to the next row."""
    line: int


def source_lines(parts: Mapping[str, Part], addresses: Iterable[int], work: Work) -> dict[int, SourceLine]:
    """Return the source line of each link-time address that has one; `parts`: sections by name; `work`: reads.

    Raises:
        DwarfError: there is no usable debug information.
    """
    found: dict[int, SourceLine] = {}
    try:
        dwarf = dwarf_of(parts, work)
        for unit, wanted in by_unit(dwarf, addresses):
            found |= _lines_of_unit(dwarf, unit, wanted, parts)
    except DAMAGE as error:
        raise DwarfError(str(error) or type(error).__name__) from error
    return found


def _lines_of_unit(
    dwarf: Any,  # noqa: ANN401
    unit: Any,  # noqa: ANN401
    addresses: Sequence[int],
    parts: Mapping[str, Part],
) -> dict[int, SourceLine]:
    program = dwarf.line_program_for_CU(unit)
    if program is None:
        return {}
    rows = sorted(_rows(program, parts[".debug_line"].view), key=lambda row: row.address)
    starts = [row.address for row in rows]
    calls = list(_inlined_calls(dwarf, unit, addresses))
    found = {}
    for address in addresses:
        row = rows[at - 1] if (at := bisect_right(starts, address)) else None
        if row is None or row.file < 0 or not row.line:
            continue
        inlined = tuple(name for name, spans in calls if any(address in span for span in spans))
        found[address] = SourceLine(_file(program, unit, row.file), row.line, inlined)
    return found


def _rows(program: Any, lines: memoryview) -> Iterator[_Row]:  # noqa: ANN401
    """Yield the rows of a line program; of those of one address the last holds. pyelftools would keep half a kilobyte
    of each.

    Raises DwarfError.
    """
    header = program.header
    first, scale, span = header["opcode_base"], header["minimum_instruction_length"], header["line_range"]
    at, end = program.program_start_offset, program.program_end_offset
    if end - at > _LONGEST_PROGRAM:
        raise DwarfError(f"a line program of {end - at} bytes")
    address, file, line = 0, 1, 1
    while at < end:
        code = lines[at]
        at += 1
        if code >= first:  # moves both, and makes a row
            address += (code - first) // span * scale
            line += header["line_base"] + (code - first) % span
            yield _Row(address, file, line)
        elif code == 0:  # an extended one, with its length
            size, at = unsigned_leb(lines, at)
            extended = lines[at] if size else 0
            if extended == _END_SEQUENCE:
                yield _Row(address, -1, line)
                address, file, line = 0, 1, 1
            elif extended == _SET_ADDRESS:
                address = int.from_bytes(lines[at + 1 : at + size], "little")
            at += size
        elif code == _COPY:
            yield _Row(address, file, line)
        elif code == _CONST_ADD_PC:
            address += (255 - first) // span * scale
        elif code == _FIXED_ADVANCE_PC:
            address += int.from_bytes(lines[at : at + 2], "little")
            at += 2
        else:
            for _ in range(header["standard_opcode_lengths"][code - 1]):
                start = at
                value, at = unsigned_leb(lines, at)
                if code == _ADVANCE_PC:
                    address += value * scale
                elif code == _ADVANCE_LINE:
                    line += value - (1 << 7 * (at - start) if lines[at - 1] & 0x40 else 0)
                elif code == _SET_FILE:
                    file = value


def _file(program: Any, unit: Any, number: int) -> str:  # noqa: ANN401
    """Return the path of a file of a line program, relative to the folder of the build where it lies in it."""
    header = program.header
    first = 0 if header.version >= 5 else 1
    entry = header.file_entry[number - first]
    folders = header.include_directory
    at = entry.dir_index - first
    folder = folders[at] if 0 <= at < len(folders) else b""
    build = unit.get_top_DIE().attributes.get("DW_AT_comp_dir")
    root = build.value.decode("utf-8", "replace") if build is not None else ""
    path = posixpath.join(root, folder.decode("utf-8", "replace"), entry.name.decode("utf-8", "replace"))
    path = posixpath.normpath(path)
    return path.removeprefix(f"{root}/") if root else path


def _inlined_calls(
    dwarf: Any,  # noqa: ANN401
    unit: Any,  # noqa: ANN401
    addresses: Sequence[int],
) -> Iterator[tuple[str, list[range]]]:
    """Yield name and code of each call inlined into functions with some of the addresses, outer ones first."""
    for _, entry in entries_around(dwarf, unit, addresses):
        if entry.tag == INLINED:
            yield name_of(entry), spans_of(dwarf, unit, entry)
