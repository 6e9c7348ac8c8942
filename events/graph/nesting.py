"""Which begin belongs to which end, and what is inside of what: for one piece of events, by columns.

A begin and an end of one function at one place are a pair where nothing but such pairs stands between them in their
task: found in passes, each of which takes the innermost calls away (a tree has few levels, so there are few). Then
each call must be deeper than the one around it. Tasks in which that does not hold, or where an end is left with a
begin before it, have missed something: there what is left is gone through one by one (`events.graph.stepwise`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.graph.begin_end_columns import ENDS, NOWHERE, WITHOUT_ROW, Brackets, Deeper, Edge, Ints, Mask, What
from events.graph.stepwise import step_over, step_through

Places = NDArray[np.intp]
_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


class Nesting(NamedTuple):
    """One row an event, in the order in which they were given; places are of that order, -1: none."""

    partner: Places
    """The other end."""
    parent: Places
    """The begin that is around it; not for an END with a partner."""
    level: Ints
    """Number of those."""
    over: Places
    """BEGIN: the event that shows that it has ended, though its end was not seen."""


def nest(events: Brackets, groups: Ints, deeper: Deeper) -> Nesting:
    """Nest events; those of different groups have nothing to do with each other."""
    order = np.argsort(groups, kind="stable")
    # Most often a piece is one task's, or sorted already.
    straight = len(order) < 2 or bool((order[1:] > order[:-1]).all())
    if straight:
        return _unseen(events, _nest(events, groups, deeper))
    ordered = events._replace(  # no other column says anything about the nesting
        edge=events.edge[order],
        what=events.what[order],
        function=events.function[order],
        place=events.place[order],
        proof=events.proof[order],
    )
    return _unseen(events, _back(_nest(ordered, groups[order], deeper), order))


def _unseen(events: Brackets, found: Nesting) -> Nesting:
    """Take what is known to be over without an end as such, and no pair."""
    over = np.flatnonzero((events.edge == Edge.OVER) & (found.partner >= 0))
    if len(over):
        begins = found.partner[over]
        found.over[begins] = over
        found.partner[over] = found.partner[begins] = -1
    return found


def _back(found: Nesting, order: Places) -> Nesting:
    """From the order of groups to the order in which events were given."""
    size = len(order)
    there = np.append(order, -1)  # -1 stays -1
    made = Nesting(*(np.empty(size, column.dtype) for column in found))
    made.level[order] = found.level
    made.partner[order] = there[found.partner]
    made.parent[order] = there[found.parent]
    made.over[order] = there[found.over]
    return made


def _nest(events: Brackets, groups: Ints, deeper: Deeper) -> Nesting:
    size = events.size
    nothing = np.full(size, -1, np.intp)
    found = Nesting(nothing, nothing.copy(), np.zeros(size, np.int64), nothing.copy())
    if not size:
        return found
    firsts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
    wrong, left = _pair(events, groups, found.partner)
    wrong |= _enclose(events, firsts, found, deeper)
    stops = np.append(firsts[1:], size)
    if wrong.any():
        for number in _groups(firsts, wrong):
            start, stop = int(firsts[number]), int(stops[number])
            part = slice(*np.searchsorted(left, (start, stop)).tolist())
            step_over(events, start, stop, left[part], deeper, found)
        wrong = _enclose(events, firsts, found, deeper)
        for number in _groups(firsts, wrong):  # what looked like pairs were none
            step_through(events, int(firsts[number]), int(stops[number]), deeper, found)
    return found


def _groups(firsts: Places, wrong: Mask) -> list[int]:
    """Numbers of the groups in which something is wrong."""
    numbers: list[int] = np.unique(np.searchsorted(firsts, np.flatnonzero(wrong), "right") - 1).tolist()
    return numbers


def _pair(events: Brackets, groups: Ints, partner: Places) -> tuple[Mask, Places]:
    """Pair what can be paired; gives ends that are left with a begin before them, and all that is left."""
    same = _mixed(events, groups)
    left = np.flatnonzero(events.edge != Edge.POINT)
    begin, key = events.edge[left] == Edge.BEGIN, same[left]
    while len(left) > 1:
        at = np.flatnonzero(begin[:-1] & ~begin[1:] & (key[:-1] == key[1:]))
        if not len(at):
            break
        partner[left[at]] = left[at + 1]
        partner[left[at + 1]] = left[at]
        rest = np.ones(len(left), np.bool_)
        rest[at] = rest[at + 1] = False
        left, begin, key = left[rest], begin[rest], key[rest]
    wrong = np.zeros(events.size, np.bool_)
    both = (groups[left[:-1]] == groups[left[1:]]) & begin[:-1] & ~begin[1:]
    wrong[left[1:][both]] = True
    return wrong | _unequal(events, partner), left


def _mixed(events: Brackets, groups: Ints) -> NDArray[np.uint64]:
    """A number for what both ends of a call have in common; that it is the same by chance is looked for later."""
    mixed = groups.view(np.uint64) * _ODD
    switch = events.what == What.SWITCH
    function = np.where(switch, np.uint64(0), events.function) if switch.any() else events.function
    call = events.what == What.CALL
    place = events.place if call.all() else np.where(call, events.place, 0)
    for column in (function, place.view(np.uint64), events.proof + events.what):
        mixed ^= column
        mixed *= _ODD
        mixed ^= mixed >> _HALF
    return mixed


def _unequal(events: Brackets, partner: Places) -> Mask:
    """Pairs that only look like ones."""
    begins = np.flatnonzero((events.edge == Edge.BEGIN) & (partner >= 0))
    ends = partner[begins]
    call = events.what[begins] == What.CALL
    same = (events.what[begins] == events.what[ends]) & (events.proof[begins] == events.proof[ends])
    same &= (events.function[begins] == events.function[ends]) | (events.what[begins] == What.SWITCH)
    same &= ~call | (events.place[begins] == events.place[ends])
    wrong = np.zeros(events.size, np.bool_)
    wrong[begins[~same]] = True
    return wrong


def _behind_crossings(ends: Places, rows: Places, firsts: Places, found: Nesting) -> Places:
    """Return the first row behind each end whose call had others inside that go on, as far as they still do then."""
    level = found.level[found.partner[ends]]
    crossing = np.flatnonzero(found.level[ends] != level)
    at = np.searchsorted(rows, ends[crossing])
    crossing, at = crossing[at < len(rows)], at[at < len(rows)]
    behind = rows[at]
    same = np.searchsorted(firsts, ends[crossing], "right") == np.searchsorted(firsts, behind, "right")
    wrong: Places = behind[same & (found.level[behind] > level[crossing])]
    return wrong


def _enclose(events: Brackets, firsts: Places, found: Nesting, deeper: Deeper) -> Mask:
    """Fill in levels and parents; gives what is not deeper than the call around it."""
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
    wrong[_behind_crossings(np.flatnonzero(matched_end), rows, firsts, found)] = True
    levels = found.level[rows]
    by_level = rows[np.argsort(levels.astype(np.uint16), kind="stable")]
    bounds = np.append(0, np.cumsum(np.bincount(levels)))
    call = events.what == What.CALL
    place = events.place if call.all() else np.where(call, events.place, NOWHERE)
    for level in range(1, len(bounds) - 1):
        outer = by_level[bounds[level - 1] : bounds[level]]
        outer = outer[begin[outer]]
        inner = by_level[bounds[level] : bounds[level + 1]]
        around = outer[np.searchsorted(outer, inner) - 1]
        found.parent[inner] = around
        is_call = call[inner]
        is_deeper = deeper(place[inner], place[around], events.function[inner] == events.function[around])
        # A task does nothing while it is off its CPU: that it came back was not seen.
        wrong[inner] |= (is_call & ~is_deeper) | (events.what[around] == What.SWITCH)
        other = inner[~is_call]
        if len(other):  # as deep as what it is in
            place[other] = place[found.parent[other]]
    return wrong
