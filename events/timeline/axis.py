"""Place the rows of a store on one axis of time, also where the machine was booted anew and its clock began again."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from events.store.columns import Ints
    from events.store.store import Store


class AxisPart(NamedTuple):
    """Rows of one clock."""

    first: int
    """Sequence number of the first row."""
    stop: int
    """Sequence number after the last row."""
    start: int
    """Place of the first row on the axis, in nanoseconds."""
    end: int
    """Place of the last row."""
    shift: int
    """Nanoseconds that are added to a time stamp; 0 for the first clock."""


class TimeAxis:
    """Axis of a store's rows at one moment: the kernel's nanoseconds, those of a later boot behind them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.parts: list[AxisPart] = []
        """Rows of each clock in order; none: the store is empty."""
        begins = [store.first_seq, *(seq for seq in store.boots.starts if store.first_seq < seq < store.next_seq)]
        for first, stop in zip(begins, [*begins[1:], store.next_seq], strict=True):
            if first < stop:
                self._add(first, stop)

    def _add(self, first: int, stop: int) -> None:
        start, end = self._store.row(first).ts, self._store.row(stop - 1).ts
        shift = self.parts[-1].end + 1 - start if self.parts else 0
        self.parts.append(AxisPart(first, stop, start + shift, max(start, end) + shift, shift))

    @property
    def start(self) -> int:
        """Place of the oldest row."""
        return self.parts[0].start if self.parts else 0

    @property
    def end(self) -> int:
        """First place after the newest row."""
        return self.parts[-1].end + 1 if self.parts else 0

    def place(self, seq: int) -> int:
        """Return the place of a row. Raises IndexError if it was dropped, or has not been added yet."""
        return self._store.row(seq).ts + self.shift(seq)

    def shift(self, seq: int) -> int:
        """Return the nanoseconds that are added to time stamps of rows from `seq` on."""
        number = bisect_right(self.parts, seq, key=lambda part: part.first) - 1
        return self.parts[max(number, 0)].shift if self.parts else 0

    def rows(self, places: Ints) -> Ints:
        """Return for each of some rising places the first row that is not before it; the next row where none is."""
        found = np.full(len(places), self._store.next_seq if not self.parts else self.parts[-1].stop, np.int64)
        done = 0
        for part in self.parts:
            after = len(places) if part is self.parts[-1] else int(np.searchsorted(places, part.end, "right"))
            if after > done:
                found[done:after] = self._store.rows_at(places[done:after] - part.shift, part.first, part.stop)
                done = after
        return found

    def stamp(self, place: int) -> tuple[int, int]:
        """Return the kernel's nanoseconds at a place, and a row of that clock."""
        number = bisect_right(self.parts, place, key=lambda part: part.start) - 1
        if not self.parts:
            return place, self._store.next_seq
        part = self.parts[max(number, 0)]
        return place - part.shift, part.first
