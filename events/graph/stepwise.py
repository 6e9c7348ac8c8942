"""Nesting the events of one task one by one, where something was missed: slower than by columns, and always right.

A begin shows calls that are not shallower than it to be over: their ends were missed. An end ends the youngest open
call of its function and place; what was begun inside is over, and so is a time off the CPU with whatever comes next.
Where there is none, the end stays alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from events.graph.brackets import NOWHERE, Brackets, Deeper, Edge, What

if TYPE_CHECKING:
    from events.graph.nesting import Nesting


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


def step_through(events: Brackets, start: int, stop: int, deeper: Deeper, found: Nesting) -> None:
    """Nest the events from `start` to before `stop`, all of one task; replaces what was found for them."""
    stack: list[_Open] = []
    part = events.of(slice(start, stop))
    columns = (part.edge, part.what, part.function, part.place, part.proof)
    found.partner[start:stop] = found.parent[start:stop] = found.over[start:stop] = -1

    def over(by: _Event) -> None:
        """The innermost call has ended, unseen."""
        found.over[stack.pop().event.at] = by.at

    for event in map(_Event, range(start, stop), *(column.tolist() for column in columns)):
        if event.edge == Edge.END:
            partner = next((n for n in range(len(stack) - 1, -1, -1) if stack[n].event.same == event.same), None)
            if partner is not None:
                while len(stack) > partner + 1:
                    over(event)
                opened = stack.pop().event.at
                found.partner[opened], found.partner[event.at] = event.at, opened
                continue
        while stack and stack[-1].event.what == What.SWITCH:  # a task does nothing while it is off its CPU
            over(event)
        if event.what == What.CALL and event.edge != Edge.POINT:
            while stack and not deeper(event.place, stack[-1].place):
                over(event)
        found.level[event.at] = len(stack)
        found.parent[event.at] = stack[-1].event.at if stack else -1
        if event.edge == Edge.BEGIN:
            around = stack[-1].place if stack else NOWHERE
            stack.append(_Open(event, event.place if event.what == What.CALL else around))
