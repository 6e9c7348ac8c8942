"""Nesting where something was missed: what is left of a task when all plain pairs are taken away, one by one.

A begin shows calls that are not shallower than it to be over: their ends were missed. An end ends the youngest open
call of its function and place; what was begun inside is over, and so is a time off the CPU with whatever comes next.
Where there is none, the end stays alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.graph.begin_end_columns import ENDS, NOWHERE, WITHOUT_ROW, Brackets, Deeper, Edge, What

if TYPE_CHECKING:
    from events.graph.nesting import Nesting


_ENDS: Final = frozenset(np.flatnonzero(ENDS).tolist())
_WITHOUT_ROW: Final = frozenset(np.flatnonzero(WITHOUT_ROW).tolist())


class _Event(NamedTuple):
    at: int
    edge: int
    what: int
    function: int
    place: int
    proof: int

    @property
    def same(self) -> tuple[int, int, int, int]:
        """What both ends have in common."""
        call = self.what == What.CALL
        function = 0 if self.what == What.SWITCH else self.function
        return self.what, function, self.place if call else 0, self.proof


class _Open(NamedTuple):
    event: _Event
    place: int
    """Of the innermost call that it is in, itself included."""


class _Stack:
    """The open calls of one task."""

    def __init__(self, deeper: Deeper, found: Nesting) -> None:
        self.open: list[_Open] = []
        self._deeper = deeper
        self._found = found

    def over(self, by: int) -> None:
        """The innermost call has ended, unseen; an event shows it."""
        self._found.over[self.open.pop().event.at] = by

    def take(self, event: _Event) -> None:
        """An event that is no part of a pair yet."""
        if event.edge in _ENDS and self._leave(event):
            return
        if event.edge in _WITHOUT_ROW:
            return
        while self.open and self.open[-1].event.what == What.SWITCH:  # a task does nothing while it is off its CPU
            self.over(event.at)
        if event.what == What.CALL and event.edge != Edge.POINT:
            while self.open and not self._is_inside(event):
                self.over(event.at)
        self._found.level[event.at] = len(self.open)
        self._found.parent[event.at] = self.open[-1].event.at if self.open else -1
        if event.edge == Edge.BEGIN:
            around = self.open[-1].place if self.open else NOWHERE
            self.open.append(_Open(event, event.place if event.what == What.CALL else around))

    def _is_inside(self, event: _Event) -> bool:
        """Whether a call can be inside of the innermost one."""
        top = self.open[-1]
        return bool(self._deeper(event.place, top.place, event.function == top.event.function))

    def _leave(self, event: _Event) -> bool:
        """Whether it ends an open call."""
        partner = next((n for n in range(len(self.open) - 1, -1, -1) if self.open[n].event.same == event.same), None)
        if partner is None:
            return False
        # Exits of these may still come, of another probe on the function: see `events.calls.pairing`.
        inner = self.open[partner + 1 :]
        beside = inner if event.edge == Edge.OVER else [one for one in inner if _is_beside(one.event, event)]
        self.open[partner + 1 :] = [one for one in inner if one not in beside]
        while len(self.open) > partner + 1:
            self.over(event.at)
        opened = self.open.pop().event.at
        self.open += beside
        self._found.partner[opened], self._found.partner[event.at] = event.at, opened
        return True

    def skip(self, events: Brackets, start: int, stop: int) -> None:
        """Events from `start` to before `stop` are pairs, and points."""
        while self.open and start < stop:
            top = self.open[-1]
            if top.event.what == What.SWITCH:
                self.over(start)
                continue
            part = slice(start, stop)
            same = events.function[part] == np.uint64(top.event.function)
            shows = _outermost(events.edge[part], events.what[part])
            shows &= ~self._deeper(events.place[part], top.place, same)
            if not shows.any():
                return
            start += int(np.argmax(shows))
            self.over(start)


def _is_beside(one: _Event, leave: _Event) -> bool:
    """Return whether a call is of another function or probe, in the place on the stack of one that an exit ends."""
    is_call = one.what == leave.what == What.CALL and one.edge == Edge.BEGIN
    return is_call and one.place == leave.place != 0 and one.function != leave.function


def _outermost(edge: NDArray[np.uint8], what: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Of pairs and points the begins of calls that are in no other call: what is inside of one shows nothing more."""
    call = what == What.CALL
    begin = call & (edge == Edge.BEGIN)
    height = np.cumsum(begin.astype(np.int64) - (call & ENDS[edge]))
    outermost: NDArray[np.bool_] = begin & (height == 1)
    return outermost


def step_over(
    events: Brackets, start: int, stop: int, left: NDArray[np.intp], deeper: Deeper, found: Nesting
) -> None:
    """Go through what is left of the events from `start` to before `stop`, all of one task, when pairs are found."""
    stack = _Stack(deeper, found)
    at = start
    for event in _events(events, left):
        stack.skip(events, at, event.at)
        stack.take(event)
        at = event.at + 1
    stack.skip(events, at, stop)


def step_through(events: Brackets, start: int, stop: int, deeper: Deeper, found: Nesting) -> None:
    """Go through all of them; replaces what was found."""
    found.partner[start:stop] = found.parent[start:stop] = found.over[start:stop] = -1
    stack = _Stack(deeper, found)
    for event in _events(events, np.arange(start, stop)):
        stack.take(event)


def _events(events: Brackets, places: NDArray[np.intp]) -> list[_Event]:
    part = events.of(places)
    columns = (part.edge, part.what, part.function, part.place, part.proof)
    return list(map(_Event, places.tolist(), *(column.tolist() for column in columns)))
