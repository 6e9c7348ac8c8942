"""Determine the nesting where events are missing: process one by one the events of a task left after pairing.

A begin proves that open calls at the same or a greater depth are over: their ends are missing. An end closes the
youngest open call of its function and place; calls begun inside it are over, and any next event ends a time off the
CPU. An end without such a call has no partner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.graph.begin_end_columns import ENDS, NOWHERE, WITHOUT_ROW, BeginEndColumns, Deeper, Edge, RowKind

if TYPE_CHECKING:
    from events.graph.begin_end_columns import Nesting


_ENDS: Final = frozenset(np.flatnonzero(ENDS).tolist())
_WITHOUT_ROW: Final = frozenset(np.flatnonzero(WITHOUT_ROW).tolist())


class _Event(NamedTuple):
    at: int
    edge: int
    kind: int
    function: int
    place: int
    pair_key: int

    @property
    def same(self) -> tuple[int, int, int, int]:
        """Properties that both ends of a call share."""
        call = self.kind == RowKind.CALL
        function = 0 if self.kind == RowKind.SWITCH else self.function
        return self.kind, function, self.place if call else 0, self.pair_key


class _OpenCall(NamedTuple):
    event: _Event
    place: int
    """Place of the innermost enclosing call, this one included."""


class _Stack:
    """Open calls of one task."""

    def __init__(self, deeper: Deeper, found: Nesting) -> None:
        self.open: list[_OpenCall] = []
        self._deeper = deeper
        self._found = found

    def over(self, by: int) -> None:
        """Close the innermost call, whose end is missing; event `by` proves that it is over."""
        self._found.over[self.open.pop().event.at] = by

    def take(self, event: _Event) -> None:
        """Process an event that is not part of a pair."""
        if event.edge in _ENDS and self._close_partner(event):
            return
        if event.edge in _WITHOUT_ROW:
            return
        self._close_outside(event, by=event.at)
        self._found.level[event.at] = len(self.open)
        self._found.parent[event.at] = self.open[-1].event.at if self.open else -1
        if event.edge == Edge.BEGIN:
            self._push(event)

    def _push(self, begin: _Event) -> None:
        enclosing_place = self.open[-1].place if self.open else NOWHERE
        self.open.append(_OpenCall(begin, begin.place if begin.kind == RowKind.CALL else enclosing_place))

    def _close_outside(self, event: _Event, by: int) -> None:
        """Close the innermost calls that cannot enclose `event`; event `by` proves that they are over."""
        while self.open and self.open[-1].event.kind == RowKind.SWITCH:  # a task does nothing while it is off its CPU
            self.over(by)
        if event.kind == RowKind.CALL and event.edge != Edge.POINT:
            while self.open and not self._is_inside(event):
                self.over(by)

    def _is_inside(self, event: _Event) -> bool:
        """Return whether a call can be inside the innermost open call."""
        top = self.open[-1]
        return bool(self._deeper(event.place, top.place, event.function == top.event.function))

    def _close_partner(self, event: _Event) -> bool:
        """Close the open call that an event ends; return whether there is one."""
        partner = next((n for n in range(len(self.open) - 1, -1, -1) if self.open[n].event.same == event.same), None)
        if partner is None:
            return False
        # Exits of these calls may still follow, of another probe on the function: see `events.calls.pairing`.
        inner = self.open[partner + 1 :]
        beside = (
            inner
            if event.edge == Edge.OVER
            else [call for call in inner if self._is_other_at_position(call.event, event)]
        )
        self.open[partner + 1 :] = [call for call in inner if call not in beside]
        while len(self.open) > partner + 1:
            self.over(event.at)
        begin_at = self.open.pop().event.at
        for call in beside:  # compared with what encloses it now, as where a piece of the events begins with it
            self._close_outside(call.event, by=event.at)
            self._push(call.event)
        self._found.partner[begin_at], self._found.partner[event.at] = event.at, begin_at
        return True

    def _is_other_at_position(self, call: _Event, exit_event: _Event) -> bool:
        """Return whether a call of another function or probe is at the stack position of an exit."""
        is_call = call.kind == exit_event.kind == RowKind.CALL and call.edge == Edge.BEGIN
        at_position = exit_event.place >> 1 and call.place ^ exit_event.place <= 1  # the lowest bit: see `on_stack`
        is_other = is_call and at_position and call.function != exit_event.function
        return bool(is_other and self._deeper(exit_event.place, call.place, False))

    def skip(self, events: BeginEndColumns, start: int, stop: int) -> None:
        """Process the events from `start` to before `stop`, which are pairs and points only."""
        while self.open and start < stop:
            top = self.open[-1]
            if top.event.kind == RowKind.SWITCH:
                self.over(start)
                continue
            part = slice(start, stop)
            same = events.function[part] == np.uint64(top.event.function)
            shows = _outermost(events.edge[part], events.kind[part])
            shows &= ~self._deeper(events.place[part], top.place, same)
            if not shows.any():
                return
            start += int(np.argmax(shows))
            self.over(start)


def _outermost(edge: NDArray[np.uint8], what: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return a mask of the begins of calls, among pairs and points, that are in no other call; inner calls prove
    nothing more.
    """
    call = what == RowKind.CALL
    begin = call & (edge == Edge.BEGIN)
    height = np.cumsum(begin.astype(np.int64) - (call & ENDS[edge]))
    outermost: NDArray[np.bool_] = begin & (height == 1)
    return outermost


def step_over(
    events: BeginEndColumns, start: int, stop: int, unmatched: NDArray[np.intp], deeper: Deeper, found: Nesting
) -> None:
    """Process the events from `start` to before `stop`, all of one task, that pairing left over."""
    stack = _Stack(deeper, found)
    at = start
    for event in _events(events, unmatched):
        stack.skip(events, at, event.at)
        stack.take(event)
        at = event.at + 1
    stack.skip(events, at, stop)


def step_through(events: BeginEndColumns, start: int, stop: int, deeper: Deeper, found: Nesting) -> None:
    """Process all events from `start` to before `stop`; replaces their nesting."""
    found.partner[start:stop] = found.parent[start:stop] = found.over[start:stop] = -1
    stack = _Stack(deeper, found)
    for event in _events(events, np.arange(start, stop)):
        stack.take(event)


def _events(events: BeginEndColumns, places: NDArray[np.intp]) -> list[_Event]:
    part = events.of(places)
    columns = (part.edge, part.kind, part.function, part.place, part.pair_key)
    return list(map(_Event, places.tolist(), *(column.tolist() for column in columns)))
