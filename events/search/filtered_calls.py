"""List the finished calls that pass a filter: those whose entry or exit passes.

An exit may pass on behalf of its call; see `events.search.joined_ends`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import numpy as np

from events.search.row_numbers import RowNumbers

if TYPE_CHECKING:
    from events.calls.calls import Calls
    from events.search.filtered_rows import FilteredRows

_PIECE: Final = 1 << 12
"""Calls tested in one step."""


class FilteredCalls:
    """Rows of `events.calls.calls.Calls` that pass, numbered from 0; a row never changes its number."""

    def __init__(self, calls: Calls, events: FilteredRows) -> None:
        """Take all calls, and the events that pass."""
        self.events = events
        self._calls = calls
        self._rows = RowNumbers()
        self._tested = calls.first

    @property
    def first(self) -> int:
        """Oldest row whose call is retained."""
        return self._rows.drop_before(self._calls.first)

    @property
    def next(self) -> int:
        """Number that the next row will get."""
        return self._rows.next

    @property
    def marks(self) -> int:
        """Number of rows that are marks of an outage or of losses: they always pass."""
        return self._calls.marks_before(self._tested)

    @property
    def backlog(self) -> int:
        """Number of events, or else calls, not tested yet."""
        return self.events.backlog or self._calls.next - max(self._tested, self._calls.first)

    def tick(self, budget: float) -> None:
        """Test events, then finished calls as far as their events have been tested, each for at most `budget` seconds
        (one step at least).
        """
        self.events.tick(budget)
        deadline = time.monotonic() + budget
        while (start := max(self._tested, self._calls.first)) < self._calls.next:
            calls = self._calls.numbers(start, min(start + _PIECE, self._calls.next))
            later = np.flatnonzero(calls.last >= self.events.looked)
            stop = start + (int(later[0]) if len(later) else len(calls.durations))
            passes = self.events.has(calls.entries) | self.events.has(calls.exits) | calls.marks
            self._rows.add(np.flatnonzero(passes[: stop - start]) + start)
            self._tested = stop
            if len(later) or time.monotonic() >= deadline:
                break

    def number(self, row: int) -> int:
        """Return the row number in `Calls`.

        Raises:
            IndexError: the row was dropped, or has not been added yet.
        """
        return self._rows.number(row)

    def at(self, row: int) -> int:
        """Return the first row that is at or after a row of `Calls`; `next` if there is none."""
        return self._rows.at(row)

    def at_time(self, ts: int) -> int:
        """Return the first row whose call ended not before a time in nanoseconds; `next` if there is none."""
        row = self._rows.first_of(self._calls.ended_after(ts), self._calls.first)
        return self.next if row is None else row
