"""Run the line programs of debug information: rows of addresses, and paths of files. pyelftools reads headers."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from btf.debug.dwarf import ByteSource, DwarfError, unsigned_leb

_LONGEST_PROGRAM: Final = 2 << 20
"""Maximum bytes of the line program of a compilation unit."""
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _NEGATE, _CONST_ADD_PC, _FIXED_ADVANCE_PC = 1, 2, 3, 4, 6, 8, 9
"""Opcodes DW_LNS_*; those of others have operands alone that are skipped."""
_END_SEQUENCE, _SET_ADDRESS = 1, 2
"""Extended opcodes DW_LNE_*."""


class LineRow(NamedTuple):
    """Row of a line program: from its address on code is of a line."""

    address: int
    file: int
    """Number of the file in the line program; -1: no code follows up to the next row."""
    line: int
    begins_statement: bool = True
    """True where a breakpoint on the line is recommended (is_stmt)."""


def line_rows(program: Any, whole: ByteSource) -> Iterator[LineRow]:  # noqa: ANN401 - of pyelftools
    """Yield the rows of a line program; of those of one address the last holds. pyelftools would keep half a kilobyte
    of each.

    Raises DwarfError.
    """
    header = program.header
    first, scale, span = header["opcode_base"], header["minimum_instruction_length"], header["line_range"]
    at, end = program.program_start_offset, program.program_end_offset
    if end - at > _LONGEST_PROGRAM:
        raise DwarfError(f"a line program of {end - at} bytes")
    default = bool(header["default_is_stmt"])
    lines, at, end = whole[at:end], 0, end - at
    address, file, line, begins = 0, 1, 1, default
    while at < end:
        code = lines[at]
        at += 1
        if code >= first:  # moves both, and makes a row
            address += (code - first) // span * scale
            line += header["line_base"] + (code - first) % span
            yield LineRow(address, file, line, begins)
        elif code == 0:  # an extended one, with its length
            size, at = unsigned_leb(lines, at)
            extended = lines[at] if size else 0
            if extended == _END_SEQUENCE:
                yield LineRow(address, -1, line, begins_statement=False)
                address, file, line, begins = 0, 1, 1, default
            elif extended == _SET_ADDRESS:
                address = int.from_bytes(lines[at + 1 : at + size], "little")
            at += size
        elif code == _COPY:
            yield LineRow(address, file, line, begins)
        elif code == _CONST_ADD_PC:
            address += (255 - first) // span * scale
        elif code == _FIXED_ADVANCE_PC:
            address += int.from_bytes(lines[at : at + 2], "little")
            at += 2
        else:
            begins = begins != (code == _NEGATE)
            for _ in range(header["standard_opcode_lengths"][code - 1]):
                start = at
                value, at = unsigned_leb(lines, at)
                if code == _ADVANCE_PC:
                    address += value * scale
                elif code == _ADVANCE_LINE:
                    line += value - (1 << 7 * (at - start) if lines[at - 1] & 0x40 else 0)
                elif code == _SET_FILE:
                    file = value


def file_path(program: Any, unit: Any, number: int) -> str:  # noqa: ANN401
    """Return the path of a file of a line program, relative to the folder of the build where it lies in it."""
    header = program.header
    first = 0 if header.version >= 5 else 1
    entry = header.file_entry[number - first]
    folders = header.include_directory
    at = entry.dir_index - first
    folder = folders[at] if 0 <= at < len(folders) else b""
    build = unit.get_top_DIE().attributes.get("DW_AT_comp_dir")
    base = build.value if build is not None else folders[0] if first == 0 and folders else b""
    root = base.decode("utf-8", "replace")
    path = posixpath.join(root, folder.decode("utf-8", "replace"), entry.name.decode("utf-8", "replace"))
    path = posixpath.normpath(path)
    return path.removeprefix(f"{root}/") if root else path
