"""Functions by their time, as table rows."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from widgets.columns import TableColumns
from widgets.highlight import highlighted
from widgets.lists.row_order import OrderedRows
from widgets.lists.top_table import TopTable
from widgets.number_format import bar, duration, grouped
from widgets.rows import Piece
from widgets.safe_text import fit, safe

TITLES = ("function", "calls", "self", "total", "p50", "p99", "longest", "errors")
_ERRORS = 7
_VARIANTS = ((0, 1, 2, 3, 4, 5, 6, _ERRORS), (0, 1, 2, 3, 5, 6, _ERRORS), (0, 1, 2, 3, 6, _ERRORS), (0, 1, 2, 3, 6))
"""Columns by number that are tried, the most first: those that fit are shown."""
_BAR, _LONGEST_BAR = 8, 40
_LOOKS = {0: "name", 2: "number", _ERRORS: "bad"}


class HotText(NamedTuple):
    """Texts of one function; times in nanoseconds."""

    name: str
    calls: int
    self_time: int
    total: int
    p50: int
    p99: int
    longest: int
    failed: int


class HotFound(NamedTuple):
    """Step of a search, see `widgets.lists.table_rows.FoundRow`."""

    seq: int | None
    next: int
    done: bool = True


class HotRows:
    """Rows of a `TopTable`."""

    first = 0

    def __init__(self, spots: Sequence[HotText] = ()) -> None:
        self.search = ""
        self._columns = [TableColumns([TITLES[n] for n in shown], {0: 24}) for shown in _VARIANTS]
        self._has_errors = False
        self.spots = spots

    @property
    def next(self) -> int:
        """Number of the next row."""
        return len(self.spots)

    @property
    def order(self) -> tuple[int, bool] | None:
        """Column that the rows are sorted by, and True for the largest first; None: its heading has no arrow."""
        return self._columns[0].order

    @order.setter
    def order(self, order: tuple[int, bool] | None) -> None:
        for numbers, columns in zip(_VARIANTS, self._columns, strict=True):
            is_shown = order is not None and order[0] in numbers
            columns.order = (numbers.index(order[0]), order[1]) if order is not None and is_shown else None

    def forget(self) -> None:
        """Skip: no row is cached."""

    def total(self, available: int) -> int:
        """Return the columns that a row takes."""
        shown, widths = self._layout(available)
        return sum(widths) + 2 * len(shown) + self._bar(available)

    def _layout(self, available: int) -> tuple[list[int], list[int]]:
        """Return the columns that are shown by number, and their widths; errors have one if there were any."""
        for numbers, columns in zip(_VARIANTS, self._columns, strict=True):
            of_all = columns.widths(available - _BAR - 2)
            found = [(n, size) for n, size in zip(numbers, of_all, strict=True) if n != _ERRORS or self._has_errors]
            if sum(size + 2 for _, size in found) + _BAR <= available:
                break
        return [n for n, _ in found], [size for _, size in found]

    def _bar(self, available: int) -> int:
        """Return the columns of a bar: those that are left."""
        shown, widths = self._layout(available)
        return min(_LONGEST_BAR, max(_BAR, available - sum(widths) - 2 * len(shown)))

    def find(self, text: str, start: int, direction: int, budget: float) -> HotFound:
        """Return the next function with a text in its name."""
        deadline, row = time.monotonic() + budget, start
        while 0 <= row < self.next:
            if text.lower() in self.spots[row].name.lower():
                return HotFound(row, row)
            row += direction
            if time.monotonic() >= deadline:
                return HotFound(None, row, False)
        return HotFound(None, row)

    def prepare(self, first: int, after: int) -> bool:
        """Measure rows to be drawn; return True if columns became wider."""
        changed = False
        for row in range(first, after):
            cells = self._cells(row)
            self._has_errors, before = self._has_errors or bool(cells[_ERRORS]), self._has_errors
            changed |= self._has_errors != before
            for numbers, columns in zip(_VARIANTS, self._columns, strict=True):
                changed |= columns.see([cells[n] for n in numbers])
        return changed

    def header(self, columns: int) -> Iterable[Piece]:
        """Return the titles above their columns."""
        for n, size in zip(*self._layout(columns), strict=True):
            yield Piece(fit(self._columns[0].heading(n), size, n > 0) + "  ")

    def column_at(self, x: int, columns: int) -> int | None:
        """Return the column whose title is at a place of the header."""
        after = 0
        for n, size in zip(*self._layout(columns), strict=True):
            after += size + 2
            if 0 <= x < after:
                return n
        return None

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return the cells of a function, and its share of the time as a bar."""
        pattern, cells = self.search.lower(), self._cells(row)
        for n, size in zip(*self._layout(columns), strict=True):
            cell = fit(cells[n], size, n > 0) + "  "
            at = cell.lower().find(pattern) if pattern and n == 0 else -1
            look = _LOOKS.get(n, "")
            yield from highlighted(cell, [(at, at + len(pattern))], look) if at >= 0 else (Piece(cell, look),)
        most = max((spot.self_time for spot in self.spots), default=0) or 1
        yield Piece(bar(self.spots[row].self_time / most, self._bar(columns)), "mark")

    def _cells(self, row: int) -> tuple[str, ...]:
        spot = self.spots[row]
        times = (spot.self_time, spot.total, spot.p50, spot.p99, spot.longest)
        failed = grouped(spot.failed) if spot.failed else ""
        return (safe(spot.name), grouped(spot.calls), *map(duration, times), failed)


class HotTable(TopTable):
    """Table of `HotRows`."""

    def __init__(self) -> None:
        self.spots = HotRows()
        super().__init__(self.spots)
        self.ordered: OrderedRows[HotText] = OrderedRows(TITLES, self._show_ordered)
        """Functions in the order that was chosen."""

    def _show_ordered(self, sorted_anew: bool) -> None:
        """Show the figures in their order; the cursor stays in its place, or goes to the first of another order."""
        self.spots.spots = self.ordered.rows
        self.spots.order = self.ordered.order.sign
        self.rows_replaced(len(self.ordered.rows), at_top=sorted_anew)
