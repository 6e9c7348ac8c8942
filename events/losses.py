"""Where the ring buffer of a CPU lost events, as values that have rows of their own among the calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

EVENT: Final = "events_lost"
"""What such a row is called where others have the name of an event; no event is."""


class Loss(NamedTuple):
    """Events of one CPU that were overwritten before they were read."""

    ts: int
    """Time of the first event behind them on that CPU, in nanoseconds of the trace clock."""
    cpu: int
    number: int
    """-1: the kernel did not say how many."""
    seq: int
    """Row of the store that came next when this was read: rows before it are older."""

    @property
    def short(self) -> str:
        """`12 lost`, in the place of a task's name."""
        return f"{self.number:,} lost" if self.number >= 0 else "some lost"

    @property
    def text(self) -> str:
        """In a line, for people."""
        many = f"{self.number:,} events were" if self.number >= 0 else "events were"
        many = "1 event was" if self.number == 1 else many
        return f"{many} lost on CPU {self.cpu}: calls around here may be incomplete, or missing"


class RingLosses:
    """Those of a store, as long as rows behind them are kept; numbered in the order in which they were read."""

    def __init__(self) -> None:
        self._first = 0
        self._kept: deque[Loss] = deque()

    def add(self, loss: Loss) -> None:
        """Keep one more."""
        self._kept.append(loss)

    @property
    def next(self) -> int:
        """Number that the next one gets."""
        return self._first + len(self._kept)

    def after(self, number: int) -> Iterator[Loss]:
        """Yield those from a number on."""
        at = max(number - self._first, 0)
        return (self._kept[place] for place in range(at, len(self._kept)))

    def forget(self, before: int) -> None:
        """Let go of those that were read before a row of the store, whose events are gone."""
        while self._kept and self._kept[0].seq < before:
            self._kept.popleft()
            self._first += 1
