"""Represent ring-buffer losses of a CPU as values, which have rows of their own among the calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from foreign.count_text import counted

LOSS_EVENT: Final = "events_lost"
"""Event name displayed for a loss; no real event has it."""


class Loss(NamedTuple):
    """Loss of events of one CPU that were overwritten before they were read."""

    ts: int
    """Time of the first event after the loss on that CPU, in nanoseconds of the trace clock."""
    cpu: int
    number: int
    """Number of lost events; -1: not reported by the kernel."""
    seq: int
    """Next row of the store when the loss was read: earlier rows precede it."""

    @property
    def short(self) -> str:
        """Short text in place of a task name: `12 lost`."""
        return f"{self.number:,} lost" if self.number >= 0 else "some lost"

    @property
    def text(self) -> str:
        """Description for people, in a single line."""
        many = counted(self.number, "event was", "events were") if self.number >= 0 else "events were"
        return f"{many} lost on CPU {self.cpu}: calls around here may be incomplete, or missing"


class RingLosses:
    """Losses of a store, as long as later rows are retained; numbered in the order read."""

    def __init__(self) -> None:
        self._first = 0
        self._losses: deque[Loss] = deque()

    def add(self, loss: Loss) -> None:
        """Append a loss."""
        self._losses.append(loss)

    @property
    def next(self) -> int:
        """Number that the next loss will get."""
        return self._first + len(self._losses)

    def after(self, number: int) -> Iterator[Loss]:
        """Yield the losses from a number on."""
        at = max(number - self._first, 0)
        return (self._losses[place] for place in range(at, len(self._losses)))

    def forget(self, before: int) -> None:
        """Drop the losses read before a row of the store, whose events have been dropped."""
        while self._losses and self._losses[0].seq < before:
            self._losses.popleft()
            self._first += 1
