"""Look up the source lines of code, and the calls that were inlined there, in the debug information of a vmlinux.

pyelftools reads the line programs and entries: only those of the compilation units asked for, a second each.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, Final, NamedTuple

from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct.core import ConstructError
from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile

from btf.debug.dwarf import READER_ERRORS, DwarfError, SourceLine

_DAMAGE: Final = (*READER_ERRORS, ELFError, DWARFError, ConstructError)
_DEEPEST: Final = 64
"""Maximum depth of calls inlined into one another."""


class _Row(NamedTuple):
    address: int
    file: int
    """Number of the file in the line program; -1: no code follows up to the next row."""
    line: int


def source_lines(file: IO[bytes], addresses: Iterable[int]) -> dict[int, SourceLine]:
    """Return the source line of each link-time address that has one; `file`: an ELF file.

    Raises:
        DwarfError: the file has no usable debug information.
    """
    found: dict[int, SourceLine] = {}
    try:
        dwarf: Any = ELFFile(file).get_dwarf_info()
        for unit, wanted in _by_unit(dwarf, addresses):
            found |= _lines_of_unit(dwarf, unit, wanted)
    except _DAMAGE as error:
        raise DwarfError(str(error) or type(error).__name__) from error
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


def _lines_of_unit(dwarf: Any, unit: Any, addresses: Sequence[int]) -> dict[int, SourceLine]:  # noqa: ANN401
    program = dwarf.line_program_for_CU(unit)
    if program is None:
        return {}
    rows = sorted(_rows(program), key=lambda row: row.address)
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


def _rows(program: Any) -> Iterator[_Row]:  # noqa: ANN401
    """Yield the rows of a line program; of those of one address the last holds."""
    for entry in program.get_entries():
        if (state := entry.state) is not None:
            yield _Row(state.address, -1 if state.end_sequence else state.file, state.line)


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
    for entry in unit.get_top_DIE().iter_children():
        if entry.tag == "DW_TAG_subprogram":
            spans = _spans(dwarf, unit, entry)
            if any(
                bisect_right(addresses, span.stop - 1) > bisect_right(addresses, span.start - 1) for span in spans
            ):
                yield from _calls_in(dwarf, unit, entry, _DEEPEST)


def _calls_in(dwarf: Any, unit: Any, entry: Any, depth: int) -> Iterator[tuple[str, list[range]]]:  # noqa: ANN401
    for child in entry.iter_children() if depth else ():
        if child.tag == "DW_TAG_inlined_subroutine":
            yield _name(child), _spans(dwarf, unit, child)
        if child.tag in ("DW_TAG_inlined_subroutine", "DW_TAG_lexical_block"):
            yield from _calls_in(dwarf, unit, child, depth - 1)


def _name(entry: Any) -> str:  # noqa: ANN401
    """Return the name of the function that an entry stands for; empty: it has none."""
    for _ in range(_DEEPEST):
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
