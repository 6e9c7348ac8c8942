"""Times between which events were lost, so that nothing is concluded from what is not there."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
from numpy.typing import NDArray


class Gaps:
    """Spans of time stamps, joined where they overlap."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._forgotten = -1
        """Latest end of what was forgotten: a call may be open for longer than its events are kept."""

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, start: int, end: int) -> None:
        """Something was lost behind an event at `start` and before one at `end`."""
        end = max(start, end)
        first, after = bisect_left(self._ends, start), bisect_right(self._starts, end)
        if first < after:
            start, end = min(start, self._starts[first]), max(end, self._ends[after - 1])
        self._starts[first:after] = [start]
        self._ends[first:after] = [end]

    def between(self, start: int, end: int) -> bool:
        """Whether something may have been lost from `start` to `end`; where time went back between them, it has."""
        if end < start:  # the clock began again
            return True
        first = bisect_left(self._ends, start)
        return start <= self._forgotten or (first < len(self._starts) and self._starts[first] <= end)

    def forget(self, before: int) -> None:
        """Forget what ended before a time; whatever begins earlier may have lost something from then on."""
        gone = bisect_left(self._ends, before)
        self._forgotten = self._ends[gone - 1] if gone else self._forgotten
        del self._starts[:gone], self._ends[:gone]

    def begin_anew(self) -> None:
        """Times begin again: what was forgotten says nothing of those that come."""
        self._forgotten = -1

    def before(self, stamps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether something may have been lost between each time stamp and the one in front of it; the first: no.

        All are of one clock: that one is a little earlier, as of an event that came late, says nothing.
        """
        broken = np.zeros(len(stamps), np.bool_)
        if len(stamps) < 2 or not self.between(int(stamps[0]), int(stamps[-1])):
            return broken
        earlier, later = stamps[:-1], stamps[1:]
        first = np.searchsorted(self._ends, earlier, "left")
        starts = np.append(np.array(self._starts, np.int64), np.iinfo(np.int64).max)
        broken[1:] = (earlier <= self._forgotten) | (starts[first] <= later)
        return broken
