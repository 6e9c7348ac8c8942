"""Lanes of one kind: their names, and the events of the busiest in each cell. Imports no screen code."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from events.clocks.boots import ID_MASK
from events.conditions.comparison import CPU, PID
from events.conditions.condition_parser import free_word, function_clause, quote_value
from events.conditions.function_comparison import FUNC
from events.names.event_names import event_name
from events.store.outage_mark import task_text
from events.text import UNNAMED
from events.timeline.lane_index import LaneIndex, LaneKind
from foreign.count_text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from events.search.filtered_rows import FilteredRows
    from events.store.columns import Ints
    from events.store.store import Store


class LaneRow(NamedTuple):
    """Events of one lane, or of several together, in each cell of a window."""

    name: str
    """Foreign text."""
    kind: LaneKind | None
    """Property by which events are in the lane; None: all events are."""
    keys: tuple[int, ...] | None
    """Keys in `events.timeline.lane_index.LaneIndex.lanes`; None: all events."""
    counts: Ints
    total: int
    is_rest: bool = False
    """True for the lanes that have no line of their own, together."""


class FunctionNames(NamedTuple):
    """Names of functions in lanes."""

    of_address: Callable[[int, int], str] = lambda address, _: f"0x{address:x}"
    """Returns the name of the function at an address, in a boot."""
    of_event: Callable[[str], str] = lambda _: ""
    """Returns the function of an event by its path; empty: the event is on none, or on several."""


class LaneGroup:
    """All lanes of one kind."""

    def __init__(
        self, store: Store, kind: LaneKind, passing: FilteredRows | None, names: FunctionNames | None = None
    ) -> None:
        self.kind = kind
        self._names = names or FunctionNames()
        self.index = LaneIndex(store, kind, passing)
        self._store = store

    def lanes(self, rows: Ints, room: int) -> list[LaneRow]:
        """Return the lanes with the most events between rows of the store, CPUs by number; those without room as one,
        named after the number of those with events there.

        Args:
            rows: first row of each cell, and the row after the last one.
            room: number of lanes at most.
        """
        ends = rows[[0, -1]]
        named = [(name, keys, int(self.index.counts(keys, ends)[0])) for name, keys in self._named().items()]
        named.sort(key=lambda lane: (-lane[2], lane[1]))
        rest = named[max(0, room - 1) :] if len(named) > room and any(total for _, _, total in named[room:]) else []
        named = named if rest else named[: max(0, room)]
        shown = named[: len(named) - len(rest)]
        if self.kind is LaneKind.CPU:
            shown.sort(key=lambda lane: lane[1])
        lanes = [LaneRow(name, self.kind, keys, self.index.counts(keys, rows), total) for name, keys, total in shown]
        if rest and room > 0:
            others = self.index.totals(rows) - sum((lane.counts for lane in lanes), np.zeros(len(rows) - 1, np.int64))
            keys = tuple(key for _, own, _ in rest for key in own)
            number = sum(total > 0 for _, _, total in rest)
            lanes.append(LaneRow(counted(number, "other"), self.kind, keys, others, int(others.sum()), is_rest=True))
        return lanes

    def clause(self, lane: LaneRow, own: Container[str]) -> str:
        """Return the condition for the events of a lane. Raises ValueError, with the name of what can't be compared.

        `own`: field names of events; a property common to all events gets a word that none of these names uses.
        """
        key = lane.keys[0] if lane.keys else -1
        if lane.is_rest or not lane.keys:
            raise ValueError(f"{lane.name}: choose a lane with a name")
        if lane.kind is LaneKind.CPU:
            return f"{free_word(CPU, own)} == {key}"
        if lane.kind is LaneKind.TASK:
            if key < 0:
                raise ValueError("events without a task")
            return f"{free_word(PID, own)} == {key & ID_MASK}"
        is_function = self.kind is LaneKind.FUNCTION and (
            key in self.index.functions or self._names.of_event(self._store.event(key))
        )
        return function_clause(FUNC, "==", lane.name) if is_function else f"event == {quote_value(lane.name)}"

    def _named(self) -> dict[str, tuple[int, ...]]:
        """Return the keys of each lane by its name: an event that was armed again has several, and so has a function
        with probes at both of its ends.
        """
        found: dict[str, tuple[int, ...]] = {}
        for key in self.index.lanes:
            name = self._name(key)
            found[name] = (*found.get(name, ()), key)
        return found

    def _name(self, key: int) -> str:
        if self.kind is LaneKind.FUNCTION and (place := self.index.functions.get(key)) is not None:
            return self._names.of_address(*place)
        if self.kind in (LaneKind.EVENT, LaneKind.FUNCTION):
            path = self._store.event(key)
            return (self._names.of_event(path) if self.kind is LaneKind.FUNCTION else "") or event_name(path)
        if self.kind is LaneKind.CPU:
            return f"CPU {key}" if key >= 0 else "no CPU"
        if key < 0:
            return "no task"
        boot, pid = key >> 32, key & ID_MASK
        name = self._store.task_names.name(key)
        name = self.index.text_names.get(key, name) if name == UNNAMED else name
        return task_text(name, pid, "") + (f" boot {boot + 1}" if boot and len(self._store.boots.starts) else "")
