"""Store ascending numbers in rows that never shift: appended at the end, dropped at the beginning, 8 bytes each."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final

import numpy as np

from events.store.columns import Ints, Mask

_LEAST: Final = 1 << 10
"""Numbers in a piece from which on a new piece is started."""


class RowNumbers:
    """Rows of a selection, stored in pieces so that neither adding nor dropping copies the retained numbers."""

    def __init__(self, begin: int = 0) -> None:
        """Start with row number `begin`."""
        self.next = begin
        """Number that the next row will get."""
        self._first = begin
        self._pieces: list[Ints] = []
        self._begins: list[int] = []
        """First row number of each piece."""

    def add(self, numbers: Ints) -> None:
        """Append numbers that are greater than all stored ones."""
        if not len(numbers):
            return
        # avoid many small pieces when a few numbers are added again and again
        if self._pieces and len(self._pieces[-1]) < _LEAST:
            self._pieces[-1] = np.concatenate((self._pieces[-1], numbers))
        else:
            self._pieces.append(numbers)
            self._begins.append(self.next)
        self.next += len(numbers)

    def drop_before(self, oldest: int) -> int:
        """Drop the numbers less than `oldest`; return the first retained row."""
        while self._pieces and self._pieces[0][-1] < oldest:
            del self._pieces[0], self._begins[0]
        first_kept = self._begins[0] + int(np.searchsorted(self._pieces[0], oldest)) if self._pieces else self.next
        self._first = max(self._first, first_kept)
        return self._first

    def number(self, row: int) -> int:
        """Return the number stored in a row.

        Raises:
            IndexError: the row was dropped, or has not been added yet.
        """
        if not self._first <= row < self.next:
            raise IndexError(row)
        piece = bisect_right(self._begins, row) - 1
        return int(self._pieces[piece][row - self._begins[piece]])

    def at(self, number: int) -> int:
        """Return the first row whose number is at least `number`; `next` if there is none."""
        row = self.next
        for begin, numbers in zip(reversed(self._begins), reversed(self._pieces), strict=True):
            if numbers[-1] < number:
                break
            row = begin + int(np.searchsorted(numbers, number))
        return row

    def has(self, numbers: Ints) -> Mask:
        """Return a mask of the given numbers that are stored."""
        if not len(numbers) or not self._pieces:
            return np.zeros(len(numbers), np.bool_)
        lasts = [piece[-1] for piece in self._pieces]
        first, last = bisect_left(lasts, int(numbers.min())), bisect_left(lasts, int(numbers.max()))
        stored = np.concatenate(self._pieces[min(first, len(lasts) - 1) : last + 1])
        found: Mask = stored[np.minimum(np.searchsorted(stored, numbers), len(stored) - 1)] == numbers
        return found

    def first_of(self, wanted: Mask, start: int) -> int | None:
        """Return the first row whose number is in the mask `wanted`, which begins with number `start`; None: no row
        is.
        """
        for begin, numbers in zip(self._begins, self._pieces, strict=True):
            skip = int(np.searchsorted(numbers, start))
            hits = wanted[numbers[skip:] - start]
            if hits.any():
                return begin + skip + int(hits.argmax())
        return None
