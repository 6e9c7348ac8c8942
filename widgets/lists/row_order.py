"""Order of the rows of a table that is replaced as a whole: as they come, or by a column. Imports no screen code."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

_NUMBER: Final = re.compile(r"([-+]?\d[\d,]*+(?:\.\d++)?+)(?: ?(ns|us|µs|ms|s|min|h|%|k|M|G|KB|MB|GB))?(?:/s)?")
_ADDRESS: Final = re.compile(r"0x[0-9a-f]{1,16}")
_UNITS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
}
_LONGEST: Final = 40
"""Characters of the longest number."""


Row = Sequence[str | int]
"""Cells of a row: texts and numbers."""
Row_co = TypeVar("Row_co", bound=Row)


@dataclass(frozen=True)
class RowOrder:
    """Order of rows; every change returns a new one."""

    column: int | None = None
    """Column that the rows are sorted by; None: they stand as they came."""
    descending: bool = False

    @property
    def sign(self) -> tuple[int, bool] | None:
        """Column and direction, for the arrow of its heading; None: it has none."""
        return None if self.column is None else (self.column, self.descending)

    def by(self, column: int, rows: Sequence[Row]) -> RowOrder:
        """Return the order by a column: numbers the largest first, texts by alphabet; by the same one as `turned`."""
        if column == self.column:
            return self.turned(rows)
        return RowOrder(column, _has_numbers(column, rows))

    def turned(self, rows: Sequence[Row]) -> RowOrder:
        """Return the order reversed; where it already is, the one in which the rows come."""
        if self.column is None or self.descending != _has_numbers(self.column, rows):
            return RowOrder()
        return RowOrder(self.column, not self.descending)

    def numbers(self, rows: Sequence[Row]) -> list[int]:
        """Return the numbers of the rows in this order; rows without a value at the end, equal ones as they came."""
        column = self.column
        if column is None:
            return list(range(len(rows)))
        keys = {n: key for n, row in enumerate(rows) if (key := sort_key(row[column])) is not None}
        there = sorted(keys, key=keys.__getitem__, reverse=self.descending)
        return [*there, *(n for n in range(len(rows)) if n not in keys)]


class OrderedRows(Generic[Row_co]):
    """Rows in the order that a person chose, and the place of each among those that came."""

    def __init__(self, titles: Sequence[str], show: Callable[[bool], None]) -> None:
        """Take the titles of the columns, and a function that shows the rows, with True where these are the same in
        another order.
        """
        self.titles = titles
        self.order = RowOrder()
        self._show = show
        self.rows: list[Row_co] = []
        """Rows in order."""
        self._came: Sequence[Row_co] = ()
        self._numbers: list[int] = []

    def take(self, rows: Sequence[Row_co], *, sorted_anew: bool = False) -> None:
        """Take other rows; `sorted_anew`: they are the same in another order."""
        self._came = rows
        self._numbers = self.order.numbers(rows)
        self.rows = [rows[n] for n in self._numbers]
        self._show(sorted_anew)

    def number(self, row: int) -> int:
        """Return the place of a row among those that came; a row that is not there has its own."""
        return self._numbers[row] if 0 <= row < len(self._numbers) else row

    def sort(self, column: int | None) -> None:
        """Sort by a column; by the same again, and for None: reversed, then as they came."""
        self.order = self.order.turned(self._came) if column is None else self.order.by(column, self._came)
        self.take(self._came, sorted_anew=True)


def sort_key(value: str | int) -> tuple[int, float, str] | None:
    """Return the key of a cell: numbers with their units (`1.2 ms`, `12.3k/s`, `1,204`) by size, then texts.

    None: the cell is empty.
    """
    if not isinstance(value, str):
        return 0, float(value), ""
    text = value.strip()
    if not text:
        return None
    if _ADDRESS.fullmatch(text):
        return 0, float(int(text, 16)), ""
    found = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        return 1, 0.0, text.lower()
    return 0, float(found[1].replace(",", "")) * _UNITS.get(found[2] or "", 1.0), ""


def _has_numbers(column: int, rows: Sequence[Row]) -> bool:
    """Return whether the first cell of a column that has something is a number."""
    keys = (sort_key(row[column]) for row in rows)
    return next((key[0] == 0 for key in keys if key is not None), False)
