"""The calls that a filter passes, found as they end: those of which the entry or the exit passes.

An exit passes for its call, too, see `events.search.joined_ends`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import numpy as np

from events.search.row_numbers import RowNumbers
from events.store.columns import Mask

if TYPE_CHECKING:
    from events.calls.calls import Calls
    from events.search.filtered_rows import FilteredRows

_PIECE: Final = 1 << 12
"""Calls that are looked at at once."""


class FilteredCalls:
    """Rows of `events.calls.calls.Calls`, numbered from 0 on; no row ever changes its number."""

    def __init__(self, calls: Calls, events: FilteredRows) -> None:
        """Take all calls, and the events that pass."""
        self.events = events
        self._calls = calls
        self._kept = RowNumbers()
        self._looked = calls.first

    @property
    def first(self) -> int:
        """Oldest row whose call is kept."""
        return self._kept.drop_before(self._calls.first)

    @property
    def next(self) -> int:
        """Row that comes next."""
        return self._kept.next

    @property
    def marks(self) -> int:
        """Rows that are marks of a cut line, or of losses: they always pass."""
        return self._calls.marks_before(self._looked)

    @property
    def behind(self) -> int:
        """Calls that were not looked at yet."""
        return self._calls.next - max(self._looked, self._calls.first)

    def tick(self, budget: float) -> None:
        """Look at calls that ended, for so many seconds at most (one piece always), as far as their events were."""
        deadline = time.monotonic() + budget
        while (start := max(self._looked, self._calls.first)) < self._calls.next:
            calls = self._calls.numbers(start, min(start + _PIECE, self._calls.next))
            later = np.flatnonzero(calls.last >= self.events.looked)
            stop = start + (int(later[0]) if len(later) else len(calls.took))
            passes = self.events.has(calls.entries) | self.events.has(calls.exits) | calls.marks
            self._kept.add(np.flatnonzero(passes[: stop - start]) + start)
            self._looked = stop
            if len(later) or time.monotonic() >= deadline:
                break

    def row(self, row: int) -> int:
        """Row of `Calls`. Raises IndexError where it was dropped or is not there yet."""
        return self._kept.number(row)

    def at(self, row: int) -> int:
        """The first row that is not before a row of `Calls`; `next` where all are."""
        return self._kept.at(row)

    def first_of(self, wanted: Mask, first: int) -> int | None:
        """The first row that is among some of `Calls`, of which `wanted` begins with row `first`; None: none is."""
        return self._kept.first_of(wanted, first)
