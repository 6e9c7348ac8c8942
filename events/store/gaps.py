"""Track time spans in which events were lost, so that missing events lead to no wrong conclusions."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
from numpy.typing import NDArray


class Gaps:
    """Set of time spans in nanoseconds; overlapping spans are merged."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._forgotten = -1
        """Latest end of the forgotten spans: a call may stay open for longer than its events are retained."""

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, start: int, end: int) -> None:
        """Add a span of loss after an event at `start` and before an event at `end`."""
        end = max(start, end)
        first, after = bisect_left(self._ends, start), bisect_right(self._starts, end)
        if first < after:
            start, end = min(start, self._starts[first]), max(end, self._ends[after - 1])
        self._starts[first:after] = [start]
        self._ends[first:after] = [end]

    def between(self, start: int, end: int) -> bool:
        """Return whether events may have been lost from `start` to `end`; also True if `end` is before `start`."""
        if end < start:  # the clock was reset
            return True
        first = bisect_left(self._ends, start)
        return start <= self._forgotten or (first < len(self._starts) and self._starts[first] <= end)

    def forget(self, before: int) -> None:
        """Drop spans that ended before a time; queries that begin at or before the latest end dropped return True."""
        count = bisect_left(self._ends, before)
        self._forgotten = self._ends[count - 1] if count else self._forgotten
        del self._starts[:count], self._ends[:count]

    def begin_anew(self) -> None:
        """Handle a reset of the clock: forgotten spans no longer affect queries."""
        self._forgotten = -1

    def before(self, stamps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return a mask: True where events may have been lost between a time stamp and its predecessor; the first is
        False.

        All time stamps are of one clock. A slightly earlier time stamp after a later one, as of an event that arrived
        late, does not count as a loss.
        """
        broken = np.zeros(len(stamps), np.bool_)
        if len(stamps) < 2 or not self.between(int(stamps[0]), int(stamps[-1])):
            return broken
        earlier, later = stamps[:-1], stamps[1:]
        first = np.searchsorted(self._ends, earlier, "left")
        starts = np.append(np.array(self._starts, np.int64), np.iinfo(np.int64).max)
        broken[1:] = (earlier <= self._forgotten) | (starts[first] <= later)
        return broken
