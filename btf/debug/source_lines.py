"""Look up the source lines of code, and the calls that were inlined there, in the debug information of a vmlinux.

pyelftools reads headers and entries: only those of the compilation units asked for, a second each.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from btf.debug.dwarf import DwarfError, SourceLine
from btf.debug.line_rows import file_path, line_rows
from btf.debug.parts import DAMAGE, DebugSection, WorkBound
from btf.debug.scopes import INLINED, by_unit, dwarf_of, entries_around, name_of, spans_of


def source_lines(
    parts: Mapping[str, DebugSection], addresses: Iterable[int], work: WorkBound
) -> dict[int, SourceLine]:
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
    parts: Mapping[str, DebugSection],
) -> dict[int, SourceLine]:
    program = dwarf.line_program_for_CU(unit)
    if program is None:
        return {}
    rows = sorted(line_rows(program, parts[".debug_line"]), key=lambda row: row.address)
    starts = [row.address for row in rows]
    calls = list(_inlined_calls(dwarf, unit, addresses))
    found = {}
    for address in addresses:
        row = rows[at - 1] if (at := bisect_right(starts, address)) else None
        if row is None or row.file < 0 or not row.line:
            continue
        inlined = tuple(name for name, spans in calls if any(address in span for span in spans))
        found[address] = SourceLine(file_path(program, unit, row.file), row.line, inlined)
    return found


def _inlined_calls(
    dwarf: Any,  # noqa: ANN401
    unit: Any,  # noqa: ANN401
    addresses: Sequence[int],
) -> Iterator[tuple[str, list[range]]]:
    """Yield name and code of each call inlined into functions with some of the addresses, outer ones first."""
    for _, entry in entries_around(dwarf, unit, addresses):
        if entry.tag == INLINED:
            yield name_of(entry), spans_of(dwarf, unit, entry)
