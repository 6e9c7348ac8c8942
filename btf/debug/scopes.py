"""Go through the entries of functions in debug information: those around some addresses, no others of a unit."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import signature
from typing import Any, Final

from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo
from elftools.dwarf.ranges import BaseAddressEntry

from btf.debug.parts import DebugSection, DebugSectionStream, WorkBound

INLINED: Final = "DW_TAG_inlined_subroutine"
SCOPES: Final = frozenset({INLINED, "DW_TAG_lexical_block"})
"""Entries in functions that inlined calls are, and lie in."""
_MOST_ORIGINS: Final = 64
"""Maximum entries that one stands for another, up to the one with the name."""


def dwarf_of(parts: Mapping[str, DebugSection], work: WorkBound) -> Any:  # noqa: ANN401 - of pyelftools
    """Return pyelftools' reader of sections, which are read at the expense of some work."""
    found: dict[str, Any] = dict.fromkeys(name for name in signature(DWARFInfo).parameters if name.endswith("_sec"))
    for name, part in parts.items():
        if f"{name[1:]}_sec" in found:
            stream: Any = DebugSectionStream(part, work)
            found[f"{name[1:]}_sec"] = DebugSectionDescriptor(stream, name, 0, len(part), 0)
    return DWARFInfo(DwarfConfig(True, "x64", 8), **found)


def by_unit(dwarf: Any, addresses: Iterable[int]) -> Iterator[tuple[Any, list[int]]]:  # noqa: ANN401 - of pyelftools
    """Yield the compilation units of addresses, each with its own in ascending order.

    clang writes no .debug_aranges: there the units themselves tell which addresses are theirs.
    """
    wanted = sorted(set(addresses))
    ranges = dwarf.get_aranges()
    if ranges is None:
        for unit in dwarf.iter_CUs():
            spans = spans_of(dwarf, unit, unit.get_top_DIE())
            if found := [address for address in wanted if any(address in span for span in spans)]:
                yield unit, found
        return
    by_offset: dict[int, list[int]] = {}
    for address in wanted:
        if (offset := ranges.cu_offset_at_addr(address)) is not None:
            by_offset.setdefault(offset, []).append(address)
    for offset, found in by_offset.items():
        yield dwarf.get_CU_at(offset), found


def entries_around(
    dwarf: Any,  # noqa: ANN401
    unit: Any,  # noqa: ANN401
    addresses: Sequence[int],
    enters: Callable[[Any], bool] = lambda _: True,
) -> Iterator[tuple[int, Any]]:
    """Yield functions with code at some of the addresses, and the entries in them, outer ones first, with depths.

    Entries are read one behind the other, as pyelftools' tree of them has no end where a sibling lies before.
    `enters`: asked of inlined calls and blocks; those that are not entered are yielded without what is in them.
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
            entry.tag in SCOPES and enters(entry)
            if depth > 1
            else entry.tag == "DW_TAG_subprogram" and _has_code_at(spans_of(dwarf, unit, entry), addresses)
        )
        if is_wanted or depth == wanted > 1:
            yield depth, entry
        if not entry.has_children:
            continue
        sibling = entry.attributes.get("DW_AT_sibling")
        if not is_wanted and sibling is not None and unit.cu_offset + sibling.value > at:
            at = unit.cu_offset + sibling.value
        else:
            depth, wanted = depth + 1, wanted + is_wanted


def _has_code_at(spans: Iterable[range], addresses: Sequence[int]) -> bool:
    return any(bisect_right(addresses, span.stop - 1) > bisect_right(addresses, span.start - 1) for span in spans)


def children_of(entry: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield the entries in one, without those in them, read as in `entries_around`."""
    at, depth = entry.offset + entry.size, 1 if entry.has_children else 0
    while depth:
        child = DIE(entry.cu, entry.stream, at)
        at += child.size
        if depth == 1 and not child.is_null():
            yield child
        depth += -1 if child.is_null() else bool(child.has_children)


def attribute_of(entry: Any, name: str) -> tuple[Any, Any] | None:  # noqa: ANN401
    """Return an attribute of an entry, or of the one that it stands for, with the entry that has it; None: none."""
    for _ in range(_MOST_ORIGINS):
        if (found := entry.attributes.get(name)) is not None:
            return found, entry
        if "DW_AT_abstract_origin" not in entry.attributes:
            break
        entry = entry.get_DIE_from_attribute("DW_AT_abstract_origin")
    return None


def name_of(entry: Any) -> str:  # noqa: ANN401
    """Return the name of what an entry stands for; empty: it has none."""
    found = attribute_of(entry, "DW_AT_name")
    return str(found[0].value.decode("utf-8", "replace")) if found is not None else ""


def spans_of(dwarf: Any, unit: Any, entry: Any) -> list[range]:  # noqa: ANN401
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
