"""The rows of a store that a filter passes, found as they come.

An event passes where the condition holds of it. Where it holds of neither end of a call but of both together, the
exit passes (`events.search.joined_ends`); the mark of a cut line passes always. A selection numbers its rows and
never shifts them, as the store does with its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np

from events.search.joined_ends import JoinedEnds
from events.search.row_numbers import RowNumbers
from events.store.columns import PIECE, Columns, Ints, Mask
from events.store.outage_mark import is_mark

if TYPE_CHECKING:
    from events.calls.call_values import EndRole
    from events.search.condition import Condition
    from events.store.store import Store


class RowSelection(Protocol):
    """Which rows of a store are shown, and in which order."""

    @property
    def first(self) -> int:
        """Oldest row."""

    @property
    def next(self) -> int:
        """Row that comes next."""

    def seq(self, row: int) -> int:
        """Sequence number of the event of a row. Raises IndexError where there is no such row."""


class AllRows:
    """All rows."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def first(self) -> int:
        """That of the store."""
        return self._store.first_seq

    @property
    def next(self) -> int:
        """That of the store."""
        return self._store.next_seq

    def seq(self, row: int) -> int:
        """The same number."""
        return row

    def at(self, seq: int) -> int:
        """The same number."""
        return seq


class FilteredRows:
    """Rows that pass: 8 bytes each, dropped with their events."""

    def __init__(
        self, store: Store, condition: Condition, ends: Callable[[], Mapping[str, EndRole]] | None = None
    ) -> None:
        """Take the condition, and what gives the events that are ends of calls by now; None: none are."""
        self.condition = condition
        self.store = store
        self._together = JoinedEnds(store, condition, ends) if ends and condition.of_calls else None
        self._kept = RowNumbers()
        self.looked = store.first_seq
        """Events before this one were looked at."""

    @property
    def first(self) -> int:
        """Oldest row whose event is kept."""
        return self._kept.drop_before(self.store.first_seq)

    @property
    def next(self) -> int:
        """Row that comes next."""
        return self._kept.next

    @property
    def of(self) -> int:
        """Events of the store."""
        return len(self.store)

    @property
    def behind(self) -> int:
        """Events that were not looked at yet."""
        return self.store.next_seq - max(self.looked, self.store.first_seq)

    def tick(self, budget: float) -> None:
        """Look at what came, for so many seconds at most (one piece always)."""
        deadline = time.monotonic() + budget
        while (start := max(self.looked, self.store.first_seq)) < self.store.next_seq:
            self.looked = min(start + PIECE, self.store.next_seq)
            self._take(start, self.looked)
            if time.monotonic() >= deadline:
                break

    def _take(self, start: int, stop: int) -> None:
        columns = self.store.columns(start, stop)
        self._kept.add(np.flatnonzero(self._passing(columns)) + columns.first)

    def _passing(self, columns: Columns) -> Mask:
        found = self.condition.candidates(columns)
        for place in np.flatnonzero(columns.is_text).tolist():
            record = self.store.record(columns.first + place)
            found[place] = is_mark(record) or self.condition(record)
        if self._together is not None:
            exits = self._together.exits(columns, lambda seqs: self._alone(columns, found, seqs))
            found[exits - columns.first] = True
        return found

    def _alone(self, columns: Columns, found: Mask, seqs: Ints) -> Mask:
        """Whether the condition holds of events alone, of which some are among those that are looked at just now."""
        here = seqs >= columns.first
        known = self.has(seqs)
        known[here] = found[seqs[here] - columns.first]
        return known

    def has(self, seqs: Ints) -> Mask:
        """Whether each event passes; not of one that was not looked at yet, or was dropped."""
        return self._kept.has(seqs)

    def passes(self, seq: int) -> bool:
        """Whether one event passes; looks at all that came up to it."""
        while self.looked <= seq < self.store.next_seq:
            self.tick(0.0)
        row = self.at(seq)
        return self.first <= row < self.next and self.seq(row) == seq

    def seq(self, row: int) -> int:
        """Sequence number of a row. Raises IndexError where it was dropped or is not there yet."""
        return self._kept.number(row)

    def at(self, seq: int) -> int:
        """The first row whose event is not older than one with this number; `next` where all are."""
        return self._kept.at(seq)
