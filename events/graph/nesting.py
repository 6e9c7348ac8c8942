"""Match begins and ends and determine the nesting, for one piece of events, by column operations.

A begin and an end of one function at one place are a pair if only such pairs are between them in their task; pairs
are found in passes, each of which removes the innermost calls (a tree has few levels, so there are few passes). Then
each call must be deeper than the enclosing one. Tasks in which that fails, or with an unmatched end after an
unmatched begin, have missing events: their remaining events are processed one by one (`events.graph.stepwise`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from events.graph.begin_end_columns import (
    ENDS,
    NOWHERE,
    WITHOUT_ROW,
    BeginEndColumns,
    Deeper,
    Edge,
    Ints,
    Mask,
    Nesting,
    Places,
    RowKind,
)
from events.graph.stepwise import step_over, step_through

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


def nest(events: BeginEndColumns, groups: Ints, deeper: Deeper) -> Nesting:
    """Nest events; events of different groups are independent."""
    order = np.argsort(groups, kind="stable")
    # A piece is often of a single task, or already sorted.
    is_sorted = len(order) < 2 or bool((order[1:] > order[:-1]).all())
    if is_sorted:
        return _without_proofs(events, _nest(events, groups, deeper))
    ordered = events._replace(  # the other columns do not affect the nesting
        edge=events.edge[order],
        kind=events.kind[order],
        function=events.function[order],
        place=events.place[order],
        pair_key=events.pair_key[order],
    )
    return _without_proofs(events, _to_input_order(_nest(ordered, groups[order], deeper), order))


def _without_proofs(events: BeginEndColumns, found: Nesting) -> Nesting:
    """Dissolve the pairs whose end is only a proof that the call is over (`Edge.OVER`)."""
    over = np.flatnonzero((events.edge == Edge.OVER) & (found.partner >= 0))
    if len(over):
        begins = found.partner[over]
        found.over[begins] = over
        found.partner[over] = found.partner[begins] = -1
    return found


def _to_input_order(found: Nesting, order: Places) -> Nesting:
    """Map a nesting from the order of groups back to input order."""
    size = len(order)
    mapping = np.append(order, -1)  # maps -1 to -1
    result = Nesting(*(np.empty(size, column.dtype) for column in found))
    result.level[order] = found.level
    result.partner[order] = mapping[found.partner]
    result.parent[order] = mapping[found.parent]
    result.over[order] = mapping[found.over]
    return result


def _nest(events: BeginEndColumns, groups: Ints, deeper: Deeper) -> Nesting:
    size = events.size
    none = np.full(size, -1, np.intp)
    found = Nesting(none, none.copy(), np.zeros(size, np.int64), none.copy())
    if not size:
        return found
    firsts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
    wrong, unmatched = _pair(events, groups, found.partner)
    wrong |= _enclose(events, firsts, found, deeper)
    stops = np.append(firsts[1:], size)
    if wrong.any():
        for number in _groups(firsts, wrong):
            start, stop = int(firsts[number]), int(stops[number])
            part = slice(*np.searchsorted(unmatched, (start, stop)).tolist())
            step_over(events, start, stop, unmatched[part], deeper, found)
        wrong = _enclose(events, firsts, found, deeper)
        for number in _groups(firsts, wrong):  # some matched pairs were wrong
            step_through(events, int(firsts[number]), int(stops[number]), deeper, found)
    return found


def _groups(firsts: Places, wrong: Mask) -> list[int]:
    """Return the numbers of the groups that contain an error."""
    numbers: list[int] = np.unique(np.searchsorted(firsts, np.flatnonzero(wrong), "right") - 1).tolist()
    return numbers


def _pair(events: BeginEndColumns, groups: Ints, partner: Places) -> tuple[Mask, Places]:
    """Pair begins and ends. Return a mask of unmatched ends after an unmatched begin and of false pairs, and the
    unmatched events.
    """
    same = _pair_hashes(events, groups)
    unmatched = np.flatnonzero(events.edge != Edge.POINT)
    begin, key = events.edge[unmatched] == Edge.BEGIN, same[unmatched]
    while len(unmatched) > 1:
        at = np.flatnonzero(begin[:-1] & ~begin[1:] & (key[:-1] == key[1:]))
        if not len(at):
            break
        partner[unmatched[at]] = unmatched[at + 1]
        partner[unmatched[at + 1]] = unmatched[at]
        rest = np.ones(len(unmatched), np.bool_)
        rest[at] = rest[at + 1] = False
        unmatched, begin, key = unmatched[rest], begin[rest], key[rest]
    wrong = np.zeros(events.size, np.bool_)
    inner_pairs = (groups[unmatched[:-1]] == groups[unmatched[1:]]) & begin[:-1] & ~begin[1:]
    wrong[unmatched[1:][inner_pairs]] = True
    return wrong | _false_pairs(events, partner), unmatched


def _pair_hashes(events: BeginEndColumns, groups: Ints) -> NDArray[np.uint64]:
    """Return a hash of the properties that both ends of a call share; `_false_pairs` finds collisions."""
    hashes = groups.view(np.uint64) * _MULTIPLIER
    switch = events.kind == RowKind.SWITCH
    function = np.where(switch, np.uint64(0), events.function) if switch.any() else events.function
    call = events.kind == RowKind.CALL
    place = events.place if call.all() else np.where(call, events.place, 0)
    for column in (function, place.view(np.uint64), events.pair_key + events.kind):
        hashes ^= column
        hashes *= _MULTIPLIER
        hashes ^= hashes >> _HALF
    return hashes


def _false_pairs(events: BeginEndColumns, partner: Places) -> Mask:
    """Return a mask of the begins whose pair is a hash collision."""
    begins = np.flatnonzero((events.edge == Edge.BEGIN) & (partner >= 0))
    ends = partner[begins]
    call = events.kind[begins] == RowKind.CALL
    same = (events.kind[begins] == events.kind[ends]) & (events.pair_key[begins] == events.pair_key[ends])
    same &= (events.function[begins] == events.function[ends]) | (events.kind[begins] == RowKind.SWITCH)
    same &= ~call | (events.place[begins] == events.place[ends])
    wrong = np.zeros(events.size, np.bool_)
    wrong[begins[~same]] = True
    return wrong


def _after_crossings(ends: Places, rows: Places, firsts: Places, found: Nesting) -> Places:
    """Return the first row after each end whose call encloses calls that are still open at that row."""
    closed = np.flatnonzero(found.over >= 0)
    closed = closed[
        closed < found.partner[found.over[closed]]
    ]  # enclosed the call whose end proves that they are over
    level = found.level[found.partner[ends]] - np.bincount(found.over[closed], minlength=len(found.over))[ends]
    crossing = np.flatnonzero(found.level[ends] != level)
    at = np.searchsorted(rows, ends[crossing])
    crossing, at = crossing[at < len(rows)], at[at < len(rows)]
    after = rows[at]
    same = np.searchsorted(firsts, ends[crossing], "right") == np.searchsorted(firsts, after, "right")
    wrong: Places = after[same & (found.level[after] > level[crossing])]
    return wrong


def _enclose(events: BeginEndColumns, firsts: Places, found: Nesting, deeper: Deeper) -> Mask:
    """Fill in levels and parents; return a mask of the events that are not deeper than the enclosing call."""
    size = events.size
    found.parent[:] = -1
    begin = events.edge == Edge.BEGIN
    matched_end = ENDS[events.edge] & (found.partner >= 0)
    change = begin.astype(np.int64) - matched_end
    missed = found.over[found.over >= 0]
    if len(missed):
        change -= np.bincount(missed, minlength=size)
    height = np.cumsum(change)
    before = (height - change)[firsts]
    lengths = np.diff(np.append(firsts, size))
    found.level[:] = height - begin - np.repeat(before, lengths)
    wrong = np.zeros(size, np.bool_)
    rows = np.flatnonzero(~matched_end & ~WITHOUT_ROW[events.edge])
    wrong[_after_crossings(np.flatnonzero(matched_end), rows, firsts, found)] = True
    levels = found.level[rows]
    by_level = rows[np.argsort(levels.astype(np.uint16), kind="stable")]
    bounds = np.append(0, np.cumsum(np.bincount(levels)))
    call = events.kind == RowKind.CALL
    place = events.place if call.all() else np.where(call, events.place, NOWHERE)
    for level in range(1, len(bounds) - 1):
        outer = by_level[bounds[level - 1] : bounds[level]]
        outer = outer[begin[outer]]
        inner = by_level[bounds[level] : bounds[level + 1]]
        parents = outer[np.searchsorted(outer, inner) - 1]
        found.parent[inner] = parents
        is_call = call[inner]
        is_deeper = deeper(place[inner], place[parents], events.function[inner] == events.function[parents])
        # A task does nothing while it is off its CPU: the event of its return is missing.
        wrong[inner] |= (is_call & ~is_deeper) | (events.kind[parents] == RowKind.SWITCH)
        other = inner[~is_call]
        if len(other):  # not a call: as deep as the row that encloses it
            place[other] = place[found.parent[other]]
    return wrong
