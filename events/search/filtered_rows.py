"""List the rows of a store that pass a filter, as they arrive.

An event passes if the condition holds for it. If it holds only for both ends of a call together, the exit passes
(`events.search.joined_ends`); the mark of an outage always passes. Like the store's, the row numbers of a selection
never shift.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from events.search.joined_ends import JoinedEnds
from events.search.row_numbers import RowNumbers
from events.store.columns import PIECE, Ints, Mask, StoreColumns
from events.store.outage_mark import is_mark

if TYPE_CHECKING:
    from events.calls.call_values import EndRole
    from events.conditions.condition import Condition
    from events.store.store import Store


class FilteredRows:
    """Selection of the rows that pass a filter: 8 bytes each, dropped with their events."""

    marks = 0

    def __init__(
        self, store: Store, condition: Condition, ends: Callable[[], Mapping[str, EndRole]] | None = None
    ) -> None:
        """Take the condition, and a function that returns the current roles of events as ends of calls; None: no
        event has one.
        """
        self.condition = condition
        self.store = store
        self._joined_ends = JoinedEnds(store, condition, ends) if ends and condition.of_calls else None
        self._kept = RowNumbers()
        self._matching_tasks = condition.tasks(store.task_names.known)
        self.looked = store.first_seq
        """Sequence number before which all events have been tested."""

    @property
    def is_current(self) -> bool:
        """True until names of tasks, cgroups or symbols become known by which events tested before may pass, too."""
        return self._matching_tasks == self.condition.tasks(self.store.task_names.known)

    @property
    def first(self) -> int:
        """Oldest row whose event is retained."""
        return self._kept.drop_before(self.store.first_seq)

    @property
    def next(self) -> int:
        """Number that the next row will get."""
        return self._kept.next

    @property
    def of(self) -> int:
        """Number of events in the store."""
        return len(self.store)

    @property
    def backlog(self) -> int:
        """Number of events not tested yet."""
        return self.store.next_seq - max(self.looked, self.store.first_seq)

    def tick(self, budget: float) -> None:
        """Test new events for at most `budget` seconds (one step at least)."""
        deadline = time.monotonic() + budget
        while (start := max(self.looked, self.store.first_seq)) < self.store.next_seq:
            self.looked = min(start + PIECE, self.store.next_seq)
            self._take(start, self.looked)
            if time.monotonic() >= deadline:
                break

    def _take(self, start: int, stop: int) -> None:
        columns = self.store.columns(start, stop)
        self._kept.add(np.flatnonzero(self._mask(columns)) + columns.first)

    def _mask(self, columns: StoreColumns) -> Mask:
        found = self.condition.candidates(columns)
        for place in np.flatnonzero(columns.is_text).tolist():
            record = self.store.record(columns.first + place)
            found[place] = is_mark(record) or self.condition(record)
        if self._joined_ends is not None:
            exits = self._joined_ends.exits(columns, lambda seqs: self._holds_separately(columns, found, seqs))
            found[exits - columns.first] = True
        return found

    def _holds_separately(self, columns: StoreColumns, found: Mask, seqs: Ints) -> Mask:
        """Return a mask of the events that satisfy the condition separately; some belong to the columns under
        test.
        """
        in_columns = seqs >= columns.first
        result = self.has(seqs)
        result[in_columns] = found[seqs[in_columns] - columns.first]
        return result

    def has(self, seqs: Ints) -> Mask:
        """Return a mask of the events that pass; False for events not tested yet, or dropped."""
        return self._kept.has(seqs)

    def passes(self, seq: int) -> bool:
        """Return whether an event passes; tests all events up to it first."""
        while self.looked <= seq < self.store.next_seq:
            self.tick(0.0)
        row = self.at(seq)
        return self.first <= row < self.next and self.number(row) == seq

    def number(self, row: int) -> int:
        """Return the sequence number of the event in a row.

        Raises:
            IndexError: the row was dropped, or has not been added yet.
        """
        return self._kept.number(row)

    def at(self, seq: int) -> int:
        """Return the first row whose event has at least this sequence number; `next` if there is none."""
        return self._kept.at(seq)

    def at_time(self, ts: int) -> int:
        """Return the first row that is not older than a time in nanoseconds; `next` if all are older."""
        return self._kept.at(self.store.at_time(ts))
