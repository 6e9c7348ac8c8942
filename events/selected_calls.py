"""The calls that a condition holds of, found as they end.

A field is that of the exit, where the exit has such a field and was seen, else that of the entry; `latency` is that
of a proven pair.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import numpy as np

from events.columns import PIECE, Ints, Mask
from events.comparison import Comparison, Number
from events.condition import LATENCY, OF_ALL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from events.calls import Calls, Numbers
    from events.condition import Condition
    from events.store import Store

_PIECE: Final = 1 << 12
"""Calls that are looked at at once."""


class SelectedCalls:
    """Rows of `events.calls.Calls`, numbered from 0 on; no row ever changes its number."""

    def __init__(self, calls: Calls, store: Store, condition: Condition) -> None:
        self.condition = condition
        self._calls = calls
        self._store = store
        self._rows = np.empty(0, np.int64)
        """Kept ones, in order."""
        self._dropped = 0
        self._looked = calls.first

    @property
    def first(self) -> int:
        """Oldest row whose call is kept."""
        gone = int(np.searchsorted(self._rows, self._calls.first))
        if gone:
            self._rows = self._rows[gone:]
            self._dropped += gone
        return self._dropped

    @property
    def next(self) -> int:
        """Row that comes next."""
        return self._dropped + len(self._rows)

    @property
    def behind(self) -> int:
        """Calls that were not looked at yet."""
        return self._calls.next - max(self._looked, self._calls.first)

    def tick(self, budget: float) -> None:
        """Look at calls that ended, for so many seconds at most (one piece always)."""
        deadline = time.monotonic() + budget
        found = [self._rows]
        while (start := max(self._looked, self._calls.first)) < self._calls.next:
            self._looked = min(start + _PIECE, self._calls.next)
            found.append(np.flatnonzero(self._holds(self._calls.numbers(start, self._looked))) + start)
            if time.monotonic() >= deadline:
                break
        if len(found) > 1:
            self._rows = np.concatenate(found)

    def row(self, row: int) -> int:
        """Row of `Calls`. Raises IndexError where it was dropped or is not there yet."""
        if not self._dropped <= row < self.next:
            raise IndexError(row)
        return int(self._rows[row - self._dropped])

    def at(self, row: int) -> int:
        """The first row that is not before a row of `Calls`; `next` where all are."""
        return self._dropped + int(np.searchsorted(self._rows, row))

    def first_of(self, wanted: Mask, first: int) -> int | None:
        """The first row that is among some of `Calls`, of which `wanted` begins with row `first`; None: none is."""
        gone = int(np.searchsorted(self._rows, first))
        hits = wanted[self._rows[gone:] - first]
        return self._dropped + gone + int(hits.argmax()) if hits.any() else None

    def _holds(self, calls: Numbers) -> Mask:
        seqs = np.unique(np.concatenate((calls.entries, calls.exits)))
        seqs = seqs[seqs >= self._store.first_seq]
        parts = [part for part in self.condition.term.parts() if part.field != LATENCY]
        known = {part: (np.zeros(len(seqs), np.bool_), np.zeros(len(seqs), np.bool_)) for part in parts}
        for part, places, has, holds in self._of_events(parts, seqs):
            known[part][0][places], known[part][1][places] = has, holds

        def of(part: Comparison) -> Mask:
            if part.field == LATENCY:
                if not isinstance(part, Number):
                    return np.zeros(len(calls.took), np.bool_)
                return calls.paired & part.compare(calls.took)
            has, holds = known[part]
            at_exit, at_entry = _places(seqs, calls.exits), _places(seqs, calls.entries)
            by_exit = _taken(has, at_exit)
            return np.where(by_exit, _taken(holds, at_exit), _taken(holds, at_entry))

        return self.condition.term.rows(of)

    def _of_events(
        self, parts: list[Comparison], seqs: Ints
    ) -> Iterator[tuple[Comparison, Ints, bool | list[bool], Mask | list[bool]]]:
        """For each comparison and some places in `seqs`: whether the events have the field, and of which it holds."""
        at = 0
        while at < len(seqs):
            start = int(seqs[at])
            stop = int(np.searchsorted(seqs, start + PIECE))
            columns = self._store.columns(start, int(seqs[stop - 1]) + 1)
            for table in columns.tables.values():
                inside = np.flatnonzero(np.isin(table.seqs, seqs[at:stop]))
                places = np.searchsorted(seqs, table.seqs[inside])
                names = {field.name for field in table.layout.format.fields}
                for part in parts:
                    has = part.field in names or part.field in OF_ALL
                    yield part, places, has, part.of_table(table, self.condition.comm)[inside]
            text = np.flatnonzero(columns.is_text & np.isin(np.arange(start, start + len(columns)), seqs[at:stop]))
            records = [self._store.record(start + place) for place in text.tolist()]
            for part in parts if records else ():
                has_it = [part.field in record.values or part.field in OF_ALL for record in records]
                yield part, np.searchsorted(seqs, text + start), has_it, [part.of_record(one) for one in records]
            at = stop


def _places(seqs: Ints, wanted: Ints) -> Ints:
    """Where each number is in a list that is in order; -1: nowhere."""
    at = np.minimum(np.searchsorted(seqs, wanted), max(len(seqs) - 1, 0))
    return np.where(seqs[at] == wanted, at, -1) if len(seqs) else np.full(len(wanted), -1)


def _taken(values: Mask, places: Ints) -> Mask:
    """The values at some places, False at -1."""
    return (places >= 0) & values[places] if len(values) else np.zeros(len(places), np.bool_)
