"""Table of first failures, the most frequent first."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from widgets.columns import Columns
from widgets.events.hot_rows import HotFound
from widgets.highlight import highlighted
from widgets.lists.table_pane import TablePane
from widgets.lists.tail_table import TailTable
from widgets.lists.top_table import TopTable
from widgets.number_format import grouped
from widgets.rows import Piece
from widgets.safe_text import fit, safe

TITLES: Final = ("failed", "error", "first failure", "calls", "processes")
_LOOKS: Final = {1: "bad", 2: "name"}
_LEAST: Final = {2: 18, 3: 12}


class FailureRow(NamedTuple):
    """Texts of the failures of one origin with one error."""

    failed: int
    error: str
    origin: str
    calls: str
    processes: str


class FailureRows:
    """Rows of a `TopTable`."""

    first = 0

    def __init__(self) -> None:
        self.search = ""
        self.columns = Columns(TITLES, _LEAST)
        self.rows: Sequence[FailureRow] = ()

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
            yield Piece(fit(TITLES[n], size, n == 0) + "  ")

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return the cells of a row."""
        pattern = self.search.lower()
        for n, (text, size) in enumerate(zip(self._cells(row), self.columns.widths(columns), strict=True)):
            cell = fit(text, size, n == 0) + "  "
            at = cell.lower().find(pattern) if pattern else -1
            look = _LOOKS.get(n, "")
            yield from highlighted(cell, [(at, at + len(pattern))], look) if at >= 0 else (Piece(cell, look),)

    def _cells(self, row: int) -> tuple[str, ...]:
        failed, *texts = self.rows[row]
        return (grouped(failed), *map(safe, texts))


class FailureTable(TopTable):
    """Table of `FailureRows`."""

    def __init__(self) -> None:
        self.failures = FailureRows()
        super().__init__(self.failures)

    def show_failures(self, rows: Sequence[FailureRow]) -> None:
        """Show other rows; the cursor stays in its place."""
        self.failures.rows = rows
        self.rows_replaced(len(rows))


class FailuresPane(TablePane):
    """Pane of a `FailureTable` and its search."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.failures = FailureTable()
        self.table: TailTable = self.failures
