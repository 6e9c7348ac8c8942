"""The events of several hosts that pass a filter, by their numbers in the merged list; no screen."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import numpy as np

from events.search.row_numbers import RowNumbers
from events.store.columns import Ints, Mask

if TYPE_CHECKING:
    from events.search.filtered_rows import FilteredRows
    from kernel.hosts.merged_events import MergedEvents
    from tui.filter.filter import Filter

_PIECE: Final = 1 << 12
"""Rows of all hosts that are looked at at once."""


class FilteredHostRows:
    """Rows numbered from 0 on; each host's own store says which of its events pass."""

    def __init__(self, events: MergedEvents, chosen: Filter) -> None:
        self.filter = chosen
        self._events = events
        self._kept = RowNumbers()
        """Numbers in the merged list."""
        self._looked = events.first_seq
        self._selected: dict[int, FilteredRows | None] = {}
        """Rows that pass, by the number of their session."""

    @property
    def first(self) -> int:
        """Oldest row that is kept."""
        return self._kept.drop_before(self._events.first_seq)

    @property
    def next(self) -> int:
        """Row that comes next."""
        return self._kept.next

    @property
    def of(self) -> int:
        """Events that are kept."""
        return self._events.next_seq - self._events.first_seq

    @property
    def backlog(self) -> int:
        """Events that were not looked at yet."""
        return self._events.next_seq - max(self._looked, self._events.first_seq)

    def number(self, row: int) -> int:
        """Return the number of a row in the merged list. Raises IndexError where it was dropped, or is none yet."""
        return self._kept.number(row)

    def at(self, number: int) -> int:
        """Return the first row that has at least this number in the merged list; `next`: there is none."""
        return self._kept.at(number)

    def tick(self, budget: float) -> None:
        """Look at what came, for so many seconds at most (one piece always)."""
        deadline = time.monotonic() + budget
        while (start := max(self._looked, self._events.first_seq)) < self._events.next_seq:
            self._looked = min(start + _PIECE, self._events.next_seq)
            sources, seqs = self._events.rows(start, self._looked)
            self._kept.add(np.flatnonzero(self._passing(sources, seqs)) + start)
            if time.monotonic() >= deadline:
                break

    def names_changed(self) -> bool:
        """Look at all again where tasks have names now that matter; True: that is so."""
        for number, selected in list(self._selected.items()):
            try:
                watching = self._events.watch(number)
            except IndexError:  # no row is of it any more
                del self._selected[number]
                continue
            self.filter.names_changed(watching)
            if watching.store is not None and self.filter.of(watching, watching.store) is not selected:
                self._kept, self._looked = RowNumbers(self.next), self._events.first_seq
                self._selected.clear()
                return True
        return False

    def _passing(self, sources: Ints, seqs: Ints) -> Mask:
        found = np.zeros(len(seqs), np.bool_)
        for number in np.unique(sources).tolist():
            rows = np.flatnonzero(sources == number)
            watching = self._events.watch(number)
            if watching.store is None:
                continue
            selected = self._selected[number] = self.filter.of(watching, watching.store)
            if selected is None:
                found[rows] = True
                continue
            while selected.looked <= int(seqs[rows].max()) < watching.store.next_seq:
                selected.tick(0.0)
            found[rows] = selected.has(seqs[rows])
        return found
