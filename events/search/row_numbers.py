"""Ascending numbers in rows that never shift: added at the end, dropped at the beginning, 8 bytes each."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final

import numpy as np

from events.store.columns import Ints, Mask

_LEAST: Final = 1 << 10
"""Numbers of a piece, as long as more come."""


class RowNumbers:
    """Rows of a selection, in pieces: neither adding nor dropping copies what is kept."""

    def __init__(self, begin: int = 0) -> None:
        """Begin with row `begin`."""
        self.next = begin
        """Row that comes next."""
        self._first = begin
        self._pieces: list[Ints] = []
        self._begins: list[int] = []
        """Row that each piece begins with."""

    def add(self, numbers: Ints) -> None:
        """Add numbers that are greater than all before."""
        if not len(numbers):
            return
        if self._pieces and len(self._pieces[-1]) < _LEAST:  # a few at each look, for hours
            self._pieces[-1] = np.concatenate((self._pieces[-1], numbers))
        else:
            self._pieces.append(numbers)
            self._begins.append(self.next)
        self.next += len(numbers)

    def drop_before(self, oldest: int) -> int:
        """Drop the numbers below one; return the first row that is kept."""
        while self._pieces and self._pieces[0][-1] < oldest:
            del self._pieces[0], self._begins[0]
        kept = self._begins[0] + int(np.searchsorted(self._pieces[0], oldest)) if self._pieces else self.next
        self._first = max(self._first, kept)
        return self._first

    def number(self, row: int) -> int:
        """Return the number of a row. Raises IndexError where it was dropped or is not there yet."""
        if not self._first <= row < self.next:
            raise IndexError(row)
        piece = bisect_right(self._begins, row) - 1
        return int(self._pieces[piece][row - self._begins[piece]])

    def at(self, number: int) -> int:
        """Return the first row with this number or a greater one; `next` where there is none."""
        row = self.next
        for begin, numbers in zip(reversed(self._begins), reversed(self._pieces), strict=True):
            if numbers[-1] < number:
                break
            row = begin + int(np.searchsorted(numbers, number))
        return row

    def has(self, numbers: Ints) -> Mask:
        """Return which of some numbers are kept."""
        if not len(numbers) or not self._pieces:
            return np.zeros(len(numbers), np.bool_)
        lasts = [piece[-1] for piece in self._pieces]
        first, last = bisect_left(lasts, int(numbers.min())), bisect_left(lasts, int(numbers.max()))
        kept = np.concatenate(self._pieces[min(first, len(lasts) - 1) : last + 1])
        found: Mask = kept[np.minimum(np.searchsorted(kept, numbers), len(kept) - 1)] == numbers
        return found

    def first_of(self, wanted: Mask, start: int) -> int | None:
        """Return the first row whose number is wanted, `wanted` begins with number `start`; None: there is none."""
        for begin, numbers in zip(self._begins, self._pieces, strict=True):
            gone = int(np.searchsorted(numbers, start))
            hits = wanted[numbers[gone:] - start]
            if hits.any():
                return begin + gone + int(hits.argmax())
        return None
