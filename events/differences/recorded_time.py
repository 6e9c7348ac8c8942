"""Time that a recording covers: from its first event to its last, without what lies between two boots."""

from __future__ import annotations

from events.store.columns import Ints


class RecordedTime:
    """Sum of the spans of time stamps of one clock each."""

    def __init__(self) -> None:
        self.nanoseconds = 0
        self._last: int | None = None
        """Latest time stamp; None: the clock was reset, or there was no event."""

    def begin_anew(self) -> None:
        """Take notice that the clock was reset before the next events."""
        self._last = None

    def take(self, stamps: Ints) -> None:
        """Add the time stamps of events, at least one, in nanoseconds."""
        first, last = int(stamps.min()), int(stamps.max())
        since = first if self._last is None else self._last
        self.nanoseconds += max(0, last - since)
        self._last = max(last, since)
