"""Events by the time at which they happened, in a fixed number of intervals that become longer as time goes on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

BUCKETS = 512
"""Intervals at most; when all are full they are put together two by two."""
FINEST = 50_000_000
"""Nanoseconds of an interval in the beginning."""


class Timeline:
    """Counts of events by their kind and time; memory is bounded by the number of kinds."""

    def __init__(self, finest: int = FINEST, buckets: int = BUCKETS) -> None:
        """Begin with intervals of `finest` ns; `buckets` of them, an even number."""
        self.width = finest
        """Nanoseconds of an interval."""
        self.start: int | None = None
        """Time stamp at which the first interval begins; None: nothing came yet."""
        self._shift = 0
        """Nanoseconds that are added to time stamps."""
        self._anew = False
        self._buckets = buckets
        self._counts: dict[str, NDArray[np.int64]] = {}
        self._used = 0

    @property
    def used(self) -> int:
        """Intervals from the first to the last that has an event."""
        return self._used

    @property
    def kinds(self) -> list[str]:
        """Those that came, in the order in which they did."""
        return list(self._counts)

    def begin_anew(self) -> None:
        """What comes from now on is of a clock that has begun again: it goes on behind what is there."""
        self._anew = self.start is not None

    def add(self, kind: str, stamps: NDArray[np.int64]) -> None:
        """Count events of one kind; what is older than the first of all belongs to the first interval."""
        if not len(stamps):
            return
        if self._anew and self.start is not None:
            self._shift, self._anew = self.start + self._used * self.width - int(stamps.min()), False
        stamps = stamps + self._shift
        earliest, latest = int(stamps.min()), int(stamps.max())
        if self.start is None:
            self.start = earliest // self.width * self.width
        while (last := (latest - self.start) // self.width) >= self._buckets:
            self._coarsen()
        counts = self._of(kind)
        if 0 <= last <= (earliest - self.start) // self.width + 1:  # two intervals: a comparison costs less
            later = int(np.count_nonzero(stamps >= self.start + last * self.width))
            counts[last] += later
            counts[max(last - 1, 0)] += len(stamps) - later
        else:
            places = np.maximum((stamps - self.start) // self.width, 0)
            counts += np.bincount(places, minlength=self._buckets)
        self._used = max(self._used, last + 1, 1)

    def place(self, earliest: int, latest: int) -> int | None:
        """The interval of events of these times and of all between; None: they have several, or none yet."""
        if self.start is None or self._anew:
            return None
        first, last = ((stamp + self._shift - self.start) // self.width for stamp in (earliest, latest))
        return first if 0 <= first == last < self._buckets else None

    def add_at(self, place: int, kind: str, number: int) -> None:
        """Count events of one kind that are all in one interval, as `place` gives it."""
        self._of(kind)[place] += number
        self._used = max(self._used, place + 1)

    def rename(self, now: Callable[[str], str]) -> None:
        """Have kinds under other names; `now` gives each another one."""
        self._counts = {now(kind): counts for kind, counts in self._counts.items()}

    def counts(self, kind: str) -> list[int]:
        """Of each interval up to the last that has an event of any kind."""
        if kind not in self._counts:
            return [0] * self._used
        found: list[int] = self._counts[kind][: self._used].tolist()
        return found

    def total(self, kind: str) -> int:
        """Of all intervals."""
        return int(self._counts[kind].sum()) if kind in self._counts else 0

    def _of(self, kind: str) -> NDArray[np.int64]:
        return self._counts.setdefault(kind, np.zeros(self._buckets, np.int64))

    def _coarsen(self) -> None:
        self.width *= 2
        for kind, counts in self._counts.items():
            halved = np.zeros_like(counts)
            halved[: self._buckets // 2] = counts.reshape(-1, 2).sum(axis=1)
            self._counts[kind] = halved
        self._used = (self._used + 1) // 2
