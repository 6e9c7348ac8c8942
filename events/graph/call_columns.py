"""The columns of a tree of calls, which grow at one end and are dropped at the other."""

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
    "what": np.uint8,
    "flags": np.uint8,
}
_LEAST: Final = 1 << 12
_SPARE: Final = 4
"""Room ahead is for a quarter of the rows: each is copied some four times, a column at once, until it is dropped."""


class CallColumns:
    """Rows `first` to `next - 1`; a row never changes its number. Attributes are named in `DTYPES`.

    Each is a view of the rows that are there, its element 0 being row `first`; it holds until the next `append` or
    `drop`.
    """

    def __init__(self) -> None:
        self.first = 0
        self.next = 0
        self._room = {name: np.zeros(_LEAST, kind) for name, kind in DTYPES.items()}
        self._start = 0
        """Place of row `first` in the arrays."""

    def __len__(self) -> int:
        return self.next - self.first

    @property
    def bytes(self) -> int:
        """What they take."""
        return sum(column.nbytes for column in self._room.values())

    def column(self, name: str) -> NDArray[Any]:
        """A view of one column."""
        return self._room[name][self._start : self._start + len(self)]

    def append(self, rows: Mapping[str, NDArray[Any]]) -> None:
        """Add rows; a column that is left out is 0 there."""
        count = len(rows["seq"])
        used = self._start + len(self)
        if used + count > len(self._room["seq"]):
            self._make_room(count)
            used = len(self)
        for name, column in self._room.items():
            column[used : used + count] = rows.get(name, 0)
        self.next += count

    def drop(self, count: int) -> None:
        """Forget the oldest rows."""
        count = min(count, len(self))
        self.first += count
        self._start += count

    def _make_room(self, count: int) -> None:
        """Move what is there to the front, of larger arrays where that is not enough."""
        kept = len(self)
        wanted = kept + count
        size = max(len(self._room["seq"]), wanted + wanted // _SPARE)
        for name, column in self._room.items():
            larger = np.empty(size, column.dtype)
            larger[:kept] = column[self._start : self._start + kept]
            self._room[name] = larger
        self._start = 0
