"""Look up the source lines of code, and the calls that were inlined there, in the debug information of a vmlinux.

pyelftools reads headers and entries: only those of the compilation units asked for, a second each.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import signature
from typing import Any, Final, NamedTuple

from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo
from elftools.dwarf.ranges import BaseAddressEntry

from btf.debug.dwarf import DwarfError, SourceLine, unsigned_leb
from btf.debug.parts import DAMAGE, LINE_SECTIONS, DebugSection, DebugSectionStream, WorkBound

_SCOPES: Final = frozenset({"DW_TAG_inlined_subroutine", "DW_TAG_lexical_block"})
"""Entries in functions that inlined calls are, and lie in."""
_MOST_ORIGINS: Final = 64
"""Maximum entries that one stands for another, up to the one with the name."""
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


def source_lines(
    parts: Mapping[str, DebugSection], addresses: Iterable[int], work: WorkBound
) -> dict[int, SourceLine]:
    """Return the source line of each link-time address that has one; `parts`: sections by name; `work`: reads.

    Raises:
        DwarfError: there is no usable debug information.
    """
    found: dict[int, SourceLine] = {}
    try:
        dwarf: Any = DWARFInfo(DwarfConfig(True, "x64", 8), **_sections(parts, work))
        for unit, wanted in _by_unit(dwarf, addresses):
            found |= _lines_of_unit(dwarf, unit, wanted, parts)
    except DAMAGE as error:
        raise DwarfError(str(error) or type(error).__name__) from error
    return found


def _sections(parts: Mapping[str, DebugSection], work: WorkBound) -> dict[str, Any]:
    """Return the arguments of pyelftools' DWARFInfo: sections that are read at the expense of some work."""
    found: dict[str, Any] = dict.fromkeys(name for name in signature(DWARFInfo).parameters if name.endswith("_sec"))
    for name in LINE_SECTIONS:
        if (part := parts.get(name)) is not None:
            stream: Any = DebugSectionStream(part, work)
            section = DebugSectionDescriptor(stream, name, 0, len(part.view), 0)
            found[f"{name[1:]}_sec"] = section
    return found


def _by_unit(dwarf: Any, addresses: Iterable[int]) -> Iterator[tuple[Any, list[int]]]:  # noqa: ANN401 - of pyelftools
    """Yield the compilation units of addresses, each with its own in ascending order."""
    ranges = dwarf.get_aranges()
    by_offset: dict[int, list[int]] = {}
    for address in sorted(set(addresses)) if ranges is not None else ():
        if (offset := ranges.cu_offset_at_addr(address)) is not None:
            by_offset.setdefault(offset, []).append(address)
    for offset, wanted in by_offset.items():
        yield dwarf.get_CU_at(offset), wanted


def _lines_of_unit(
    dwarf: Any,  # noqa: ANN401
    unit: Any,  # noqa: ANN401
    addresses: Sequence[int],
    parts: Mapping[str, DebugSection],
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
    """Yield name and code of each call inlined into functions with some of the addresses, outer ones first.

    Entries are read one behind the other, as pyelftools' tree of them has no end where a sibling lies before.
    """
    top, stream = unit.get_top_DIE(), dwarf.debug_info_sec.stream
    at = top.offset + top.size
    depth = wanted = 1  # of the next entry, and down to where all around it are wanted
    while depth:
        entry = DIE(unit, stream, at)
        at += entry.size
        if entry.is_null():
            depth -= 1
            wanted = min(wanted, depth)
            continue
        is_wanted = depth == wanted and (
            entry.tag in _SCOPES
            if depth > 1
            else entry.tag == "DW_TAG_subprogram" and _has_code_at(_spans(dwarf, unit, entry), addresses)
        )
        if is_wanted and entry.tag == "DW_TAG_inlined_subroutine":
            yield _name(entry), _spans(dwarf, unit, entry)
        if not entry.has_children:
            continue
        sibling = entry.attributes.get("DW_AT_sibling")
        if not is_wanted and sibling is not None and unit.cu_offset + sibling.value > at:
            at = unit.cu_offset + sibling.value
        else:
            depth, wanted = depth + 1, wanted + is_wanted


def _has_code_at(spans: Iterable[range], addresses: Sequence[int]) -> bool:
    return any(bisect_right(addresses, span.stop - 1) > bisect_right(addresses, span.start - 1) for span in spans)


def _name(entry: Any) -> str:  # noqa: ANN401
    """Return the name of the function that an entry stands for; empty: it has none."""
    for _ in range(_MOST_ORIGINS):
        if (name := entry.attributes.get("DW_AT_name")) is not None:
            return str(name.value.decode("utf-8", "replace"))
        if "DW_AT_abstract_origin" not in entry.attributes:
            break
        entry = entry.get_DIE_from_attribute("DW_AT_abstract_origin")
    return ""


def _spans(dwarf: Any, unit: Any, entry: Any) -> list[range]:  # noqa: ANN401
    """Return the addresses of an entry's code."""
    values = entry.attributes
    if "DW_AT_ranges" in values:
        base = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
        start = base.value if base is not None else 0
        found = []
        for one in dwarf.range_lists().get_range_list_at_offset(values["DW_AT_ranges"].value, unit):
            if isinstance(one, BaseAddressEntry):
                start = one.base_address
            else:
                offset = 0 if one.is_absolute else start
                found.append(range(one.begin_offset + offset, one.end_offset + offset))
        return found
    low, high = values.get("DW_AT_low_pc"), values.get("DW_AT_high_pc")
    if low is None or high is None:
        return []
    return [range(low.value, high.value if high.form == "DW_FORM_addr" else low.value + high.value)]
