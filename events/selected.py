"""The rows of a store that a condition holds of, found as they come.

A selection numbers its rows and never shifts them, as the store does with its own.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from events.columns import PIECE, Ints

if TYPE_CHECKING:
    from events.condition import Condition
    from events.store import Store

_LEAST: Final = 1 << 10
"""Rows of a piece, as long as more come."""


class Selection(Protocol):
    """Which rows of a store are shown, and in which order."""

    @property
    def first(self) -> int:
        """Oldest row."""

    @property
    def next(self) -> int:
        """Row that comes next."""

    def seq(self, row: int) -> int:
        """Sequence number of the event of a row. Raises IndexError where there is no such row."""


class Everything:
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


class Selected:
    """Rows that a condition holds of: 8 bytes each, dropped with their events."""

    def __init__(self, store: Store, condition: Condition) -> None:
        self.condition = condition
        self._store = store
        self._seqs: list[Ints] = []
        """In pieces, each in order."""
        self._begins: list[int] = []
        """Row that each piece begins with."""
        self.next = 0
        self._looked = store.first_seq
        """Events before this one were looked at."""

    @property
    def first(self) -> int:
        """Oldest row whose event is kept."""
        oldest = self._store.first_seq
        while self._seqs and self._seqs[0][-1] < oldest:
            del self._seqs[0], self._begins[0]
        if not self._seqs:
            return self.next
        return self._begins[0] + int(np.searchsorted(self._seqs[0], oldest))

    @property
    def behind(self) -> int:
        """Events that were not looked at yet."""
        return self._store.next_seq - max(self._looked, self._store.first_seq)

    def tick(self, budget: float) -> None:
        """Look at what came, for so many seconds at most (one piece always)."""
        deadline = time.monotonic() + budget
        while (start := max(self._looked, self._store.first_seq)) < self._store.next_seq:
            self._looked = min(start + PIECE, self._store.next_seq)
            self._take(start, self._looked)
            if time.monotonic() >= deadline:
                break

    def _take(self, start: int, stop: int) -> None:
        columns = self._store.columns(start, stop)
        found = self.condition.candidates(columns)
        for place in np.flatnonzero(columns.is_text).tolist():
            found[place] = self.condition(self._store.record(columns.first + place))
        seqs = np.flatnonzero(found) + columns.first
        if not len(seqs):
            return
        if self._seqs and len(self._seqs[-1]) < _LEAST:  # a few at each look, for hours
            self._seqs[-1] = np.concatenate((self._seqs[-1], seqs))
        else:
            self._seqs.append(seqs)
            self._begins.append(self.next)
        self.next += len(seqs)

    def seq(self, row: int) -> int:
        """Sequence number of a row. Raises IndexError where it was dropped or is not there yet."""
        piece = bisect_right(self._begins, row) - 1
        if piece < 0 or row >= self.next:
            raise IndexError(row)
        return int(self._seqs[piece][row - self._begins[piece]])

    def at(self, seq: int) -> int:
        """The first row whose event is not older than one with this number; `next` where all are."""
        row = self.next
        for begin, seqs in zip(reversed(self._begins), reversed(self._seqs), strict=True):
            if seqs[-1] < seq:
                break
            row = begin + int(np.searchsorted(seqs, seq))
        return row
