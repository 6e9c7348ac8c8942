"""The calls that a filter passes, found as they end: those of which the entry or the exit passes.

An exit passes for its call, too, see `events.together`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import numpy as np

from events.columns import Mask

if TYPE_CHECKING:
    from events.calls import Calls
    from events.selected import Selected

_PIECE: Final = 1 << 12
"""Calls that are looked at at once."""


class SelectedCalls:
    """Rows of `events.calls.Calls`, numbered from 0 on; no row ever changes its number."""

    def __init__(self, calls: Calls, events: Selected) -> None:
        """Take all calls, and the events that pass."""
        self.events = events
        self._calls = calls
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
        """Look at calls that ended, for so many seconds at most (one piece always), as far as their events were."""
        deadline = time.monotonic() + budget
        found = [self._rows]
        while (start := max(self._looked, self._calls.first)) < self._calls.next:
            calls = self._calls.numbers(start, min(start + _PIECE, self._calls.next))
            later = np.flatnonzero(calls.last >= self.events.looked)
            stop = start + (int(later[0]) if len(later) else len(calls.took))
            passes = self.events.has(calls.entries) | self.events.has(calls.exits)
            found.append(np.flatnonzero(passes[: stop - start]) + start)
            self._looked = stop
            if len(later) or time.monotonic() >= deadline:
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
