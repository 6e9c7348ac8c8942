"""Rows of texts and numbers for a table that is replaced as a whole."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from widgets.columns import WHOLE, TableColumns
from widgets.events.hot_rows import HotFound
from widgets.highlight import highlighted
from widgets.lists.row_order import OrderedRows
from widgets.lists.sortable_pane import SortablePane
from widgets.lists.top_table import TopTable
from widgets.number_format import grouped
from widgets.rows import Piece
from widgets.safe_text import cut_middle, fit, safe


class TextRows:
    """Rows of a `TopTable`; each is a tuple of texts and numbers, as many as there are titles."""

    first = 0

    def __init__(
        self, titles: Sequence[str], looks: Mapping[int, str], least: Mapping[int, int], right: Iterable[int] = ()
    ) -> None:
        """Set the titles, the looks of columns by their number, and least widths of some.

        `right`: columns of numbers that are given as texts, with their units; they are never cut.
        """
        self.search = ""
        self._right = frozenset(right)
        self.columns = TableColumns(titles, dict.fromkeys(self._right, WHOLE) | dict(least))
        self.rows: Sequence[tuple[str | int, ...]] = ()
        self._looks = looks
        self.look_of: Mapping[int, Callable[[str | int], str]] = {}
        """Functions that return the look of a cell, by column, where it depends on the cell."""

    @property
    def next(self) -> int:
        """Number of the next row."""
        return len(self.rows)

    def forget(self) -> None:
        """Skip: no row is cached."""

    def total(self, available: int) -> int:
        """Return the columns that a row takes."""
        return self.columns.total(available)

    def find(self, text: str, start: int, direction: int, budget: float) -> HotFound:
        """Return the next row with a text."""
        deadline, row = time.monotonic() + budget, start
        while 0 <= row < self.next:
            if text.lower() in "\n".join(self._cells(row)).lower():
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
        for n, size in enumerate(self.columns.widths(columns)):
            yield Piece(fit(self.columns.heading(n), size, self._is_right(n, self._example(n))) + "  ")

    def column_at(self, x: int, columns: int) -> int | None:
        """Return the column whose title is at a place of the header."""
        return self.columns.at(x, columns)

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return the cells of a row."""
        pattern = self.search.lower()
        for n, (text, size) in enumerate(zip(self._cells(row), self.columns.widths(columns), strict=True)):
            text = text if n else cut_middle(text, size)  # names differ at their ends
            cell = fit(text, size, self._is_right(n, self.rows[row][n])) + "  "
            at = cell.lower().find(pattern) if pattern else -1
            look = self.look_of[n](self.rows[row][n]) if n in self.look_of else self._looks.get(n, "")
            yield from highlighted(cell, [(at, at + len(pattern))], look) if at >= 0 else (Piece(cell, look),)

    def _is_right(self, column: int, cell: str | int) -> bool:
        return column in self._right or not isinstance(cell, str)

    def _example(self, column: int) -> str | int:
        return self.rows[0][column] if self.rows else ""

    def _cells(self, row: int) -> tuple[str, ...]:
        return tuple(safe(one) if isinstance(one, str) else grouped(one) for one in self.rows[row])


class TextTable(TopTable):
    """Table of `TextRows`."""

    def __init__(self, rows: TextRows) -> None:
        super().__init__(rows)
        self.text_rows = rows
        self.ordered: OrderedRows[tuple[str | int, ...]] = OrderedRows(rows.columns.titles, self._show_ordered)
        """Rows in the order that was chosen."""

    def _show_ordered(self, sorted_anew: bool) -> None:
        """Show the rows in their order; the cursor stays in its place, or goes to the first of another order."""
        self.text_rows.rows = self.ordered.rows
        self.text_rows.columns.order = self.ordered.order.sign
        self.rows_replaced(len(self.ordered.rows), at_top=sorted_anew)

    def action_select(self) -> None:
        """Ask for the details of the row under the cursor, by its number among the rows as they were given."""
        if self.window.has(self.cursor):
            self.post_message(self.DetailRequested(self.ordered.number(self.cursor)).set_sender(self))


def text_pane(rows: TextRows, *, id: str | None = None) -> SortablePane:  # noqa: A002 - Textual's name
    """Return a pane of a `TextTable`, with its search and its order."""
    table = TextTable(rows)
    return SortablePane(table, table.ordered, id=id)
