"""Compute events per second of each format from the counts of whole passes, at no cost per event."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping


class Rates:
    """Event counts of the last seconds. Times are seconds of one monotonic clock."""

    def __init__(self, window: float = 2.0) -> None:
        """Average over `window` seconds."""
        self.totals: Counter[int] = Counter()
        """Events since the start by format id, including rows dropped since."""
        self._window = window
        self._passes: deque[tuple[float, Mapping[int, int]]] = deque()
        self._recent: Counter[int] = Counter()
        self._started: float | None = None

    def add(self, counts: Mapping[int, int], now: float) -> None:
        """Add the counts of one pass."""
        if self._started is None:
            self._started = now
        if counts:
            self.totals.update(counts)
            self._recent.update(counts)
            self._passes.append((now, counts))
        self._forget(now)

    def per_second(self, now: float) -> dict[int, float]:
        """Return the rate by format id, without formats that had no events within the window."""
        self._forget(now)
        since = 0.0 if self._started is None else now - self._started
        span = min(self._window, max(since, self._window / 4))
        return {number: count / span for number, count in self._recent.items() if count}

    def _forget(self, now: float) -> None:
        while self._passes and self._passes[0][0] <= now - self._window:
            self._recent.subtract(self._passes.popleft()[1])
