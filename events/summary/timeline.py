"""Count events by time, in a fixed number of intervals whose length grows with the time span."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

BUCKETS = 512
"""Maximum number of intervals; when all are used, pairs of them are merged."""
FINEST = 50_000_000
"""Initial length of an interval in nanoseconds."""


class Timeline:
    """Counts of events by kind and time; memory is bounded by the number of kinds."""

    def __init__(self, finest: int = FINEST, buckets: int = BUCKETS) -> None:
        """Start with intervals of `finest` ns; `buckets` of them, an even number."""
        self.width = finest
        """Length of an interval in nanoseconds."""
        self.start: int | None = None
        """Time stamp at which the first interval begins; None: no events yet."""
        self._shift = 0
        """Nanoseconds added to time stamps."""
        self._anew = False
        self._buckets = buckets
        self._counts: dict[str, NDArray[np.int64]] = {}
        self._used = 0

    @property
    def used(self) -> int:
        """Number of intervals from the first to the last that has an event."""
        return self._used

    @property
    def kinds(self) -> list[str]:
        """Kinds of events, in the order of their first event."""
        return list(self._counts)

    def begin_anew(self) -> None:
        """Handle a reset of the clock: later events are appended after the existing ones."""
        self._anew = self.start is not None

    def cover(self, earliest: int, latest: int) -> tuple[int, int]:
        """Make room for events of some times, and return the intervals of the earliest and of the latest of them.

        After a reset of the clock the earliest one follows what came before: events that come together are covered
        together, before those of the first kind are added.
        """
        if self._anew and self.start is not None:
            self._shift, self._anew = self.start + self._used * self.width - earliest, False
        earliest, latest = earliest + self._shift, latest + self._shift
        if self.start is None:
            self.start = earliest // self.width * self.width
        while True:
            missing = max(0, -((earliest - self.start) // self.width))
            if missing + max((latest - self.start) // self.width + 1, self._used) <= self._buckets:
                break
            self._coarsen()
        if missing:
            self._begin_earlier(missing)
        return (earliest - self.start) // self.width, (latest - self.start) // self.width

    def add(self, kind: str, stamps: NDArray[np.int64]) -> None:
        """Count events of one kind."""
        if not len(stamps):
            return
        first, last = self.cover(int(stamps.min()), int(stamps.max()))
        begin = (self.start or 0) - self._shift
        counts = self._of(kind)
        if last <= first + 1:  # two intervals: a comparison is cheaper
            later = int(np.count_nonzero(stamps >= begin + last * self.width))
            counts[last] += later
            counts[first] += len(stamps) - later
        else:
            counts += np.bincount((stamps - begin) // self.width, minlength=self._buckets)
        self._used = max(self._used, last + 1)

    def add_at(self, place: int, kind: str, number: int) -> None:
        """Count events of one kind in interval `place`."""
        self._of(kind)[place] += number
        self._used = max(self._used, place + 1)

    def rename(self, now: Callable[[str], str]) -> None:
        """Rename kinds; `now` maps each old name to a different new one."""
        self._counts = {now(kind): counts for kind, counts in self._counts.items()}

    def counts(self, kind: str) -> list[int]:
        """Return the counts of a kind for each interval up to the last one that is used."""
        if kind not in self._counts:
            return [0] * self._used
        found: list[int] = self._counts[kind][: self._used].tolist()
        return found

    def total(self, kind: str) -> int:
        """Return the sum of a kind's counts over all intervals."""
        return int(self._counts[kind].sum()) if kind in self._counts else 0

    def _of(self, kind: str) -> NDArray[np.int64]:
        return self._counts.setdefault(kind, np.zeros(self._buckets, np.int64))

    def _begin_earlier(self, missing: int) -> None:
        """Put intervals in front of the first one."""
        for kind, counts in self._counts.items():
            self._counts[kind] = np.concatenate((np.zeros(missing, np.int64), counts[:-missing]))
        self.start = (self.start or 0) - missing * self.width
        self._used += missing if self._used else 0

    def _coarsen(self) -> None:
        self.width *= 2
        for kind, counts in self._counts.items():
            halved = np.zeros_like(counts)
            halved[: self._buckets // 2] = counts.reshape(-1, 2).sum(axis=1)
            self._counts[kind] = halved
        self._used = (self._used + 1) // 2
