"""Functions by their time, as table rows."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from widgets.columns import Columns
from widgets.highlight import highlighted
from widgets.lists.row_order import OrderedRows
from widgets.lists.top_table import TopTable
from widgets.number_format import bar, duration, grouped
from widgets.rows import Piece
from widgets.safe_text import fit, safe

TITLES = ("function", "calls", "self", "total", "p50", "p99", "longest", "errors")
_BAR = 8
_LOOKS = {0: "name", 2: "number", 7: "bad"}


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
        self.columns = Columns(TITLES, {0: 24})
        self.spots = spots

    @property
    def next(self) -> int:
        """Number of the next row."""
        return len(self.spots)

    def forget(self) -> None:
        """Skip: no row is cached."""

    def total(self, available: int) -> int:
        """Return the columns that a row takes."""
        return self.columns.total(available) + 1 + _BAR

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
        return any(self.columns.see(self._cells(row)) for row in range(first, after))

    def header(self, columns: int) -> Iterable[Piece]:
        """Return the titles above their columns."""
        widths = self.columns.widths(columns - _BAR - 1)
        for n, size in enumerate(widths):
            yield Piece(fit(self.columns.heading(n), size, n > 0) + "  ")

    def column_at(self, x: int, columns: int) -> int | None:
        """Return the column whose title is at a place of the header."""
        return self.columns.at(x, columns - _BAR - 1)

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return the cells of a function, and its share of the time as a bar."""
        widths = self.columns.widths(columns - _BAR - 1)
        pattern = self.search.lower()
        for n, text in enumerate(self._cells(row)):
            cell = fit(text, widths[n], n > 0) + "  "
            at = cell.lower().find(pattern) if pattern and n == 0 else -1
            look = _LOOKS.get(n, "")
            yield from highlighted(cell, [(at, at + len(pattern))], look) if at >= 0 else (Piece(cell, look),)
        most = max((spot.self_time for spot in self.spots), default=0) or 1
        yield Piece(bar(self.spots[row].self_time / most, _BAR), "mark")

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
        self.ordered: OrderedRows[HotText] = OrderedRows()
        """Functions in the order that was chosen."""

    @property
    def titles(self) -> Sequence[str]:
        """Titles of the columns."""
        return TITLES

    def count(self, spots: Sequence[HotText]) -> None:
        """Show other figures; the cursor stays in its place."""
        self.ordered.take(spots)
        self._show_ordered()

    def sort(self, column: int | None) -> None:
        """Sort by a column; by the same again, and for None: reversed, then those of the most time of their own
        first.
        """
        self.ordered.sort(column)
        self._show_ordered()

    def _show_ordered(self) -> None:
        self.spots.spots = self.ordered.rows
        self.spots.columns.order = self.ordered.order.sign
        self.rows_replaced(len(self.ordered.rows))
