"""Store the columns of a call tree, which grow at one end and are dropped at the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

DTYPES: Final[Mapping[str, Any]] = {
    "seq": np.int64,
    "leave": np.int64,
    "ts": np.int64,
    "duration": np.int64,
    "inside": np.int64,
    "function": np.uint64,
    "parent": np.int64,
    "after": np.int64,
    "retval": np.int64,
    "task": np.int32,
    "cpu": np.int16,
    "level": np.uint16,
    "kind": np.uint8,
    "flags": np.uint8,
}
_LEAST: Final = 1 << 12
_SPARE: Final = 4
"""Divisor of the row count for spare space: with a quarter, each row is copied about four times in its life."""


class CallColumns:
    """Columns of rows `first` to `next - 1`; a row never changes its number. Attributes are named in `DTYPES`.

    Each column is a view of the current rows, element 0 being row `first`; a view is valid until the next `append` or
    `drop`.
    """

    def __init__(self) -> None:
        self.first = 0
        self.next = 0
        self._room = {name: np.zeros(_LEAST, kind) for name, kind in DTYPES.items()}
        self._start = 0
        """Index of row `first` in the arrays."""

    def __len__(self) -> int:
        return self.next - self.first

    @property
    def bytes(self) -> int:
        """Bytes that the columns occupy."""
        return sum(column.nbytes for column in self._room.values())

    def column(self, name: str) -> NDArray[Any]:
        """Return a view of one column."""
        return self._room[name][self._start : self._start + len(self)]

    def append(self, rows: Mapping[str, NDArray[Any]]) -> None:
        """Append rows; columns that are not given are 0."""
        count = len(rows["seq"])
        used = self._start + len(self)
        if used + count > len(self._room["seq"]):
            self._make_room(count)
            used = len(self)
        for name, column in self._room.items():
            column[used : used + count] = rows.get(name, 0)
        self.next += count

    def drop(self, count: int) -> None:
        """Drop the oldest rows."""
        count = min(count, len(self))
        self.first += count
        self._start += count

    def _make_room(self, count: int) -> None:
        """Move the rows to the front of the arrays, and enlarge the arrays if needed."""
        count_now = len(self)
        wanted = count_now + count
        size = max(len(self._room["seq"]), wanted + wanted // _SPARE)
        for name, column in self._room.items():
            larger = np.empty(size, column.dtype)
            larger[:count_now] = column[self._start : self._start + count_now]
            self._room[name] = larger
        self._start = 0
