"""Write the table of a view into one file, in steps like `events.export.job.Job`. Imports no screen code."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from events.export.formats.csv_table import cell, column_names
from events.export.formats.parquet_rows import write_rows
from events.json_text import json_line

if TYPE_CHECKING:
    from events.export.catalogue import Format
    from tui.output.view_table import Cells, ViewTable

_AT_ONCE: Final = 64
"""Rows written between two checks of the clock."""


class ViewJob:
    """Writer of one table; belongs to the thread that feeds the store."""

    def __init__(self, table: ViewTable, form: Format, out: BinaryIO) -> None:
        """Set the table (already read from the kernel), a format `of_tables`, and the file."""
        self.total = table.total
        """Events that the table is made of."""
        self._table = table
        self._form = form
        self._out = out
        self._rows: Iterator[dict[str, Any]] | None = None
        self._columns: tuple[str, ...] = ()
        self._cells: list[Cells] = []
        """Rows of a format that is written at the end."""
        self.rows = 0
        """Rows written."""

    @property
    def done(self) -> int:
        """Number of events processed."""
        return max(0, self.total - self._table.unread)

    @property
    def text(self) -> str:
        """Number of rows of the table, and of events that no row is of, as text."""
        return ", ".join((self._table.text, *self._table.lacking))

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on missing data, one a line."""
        return self._table.notes

    def step(self, budget: float = 0.02) -> bool:
        """Work for about `budget` seconds; return True when all is written. Raises OSError."""
        deadline = time.monotonic() + budget
        if self._rows is None:
            while self._table.unread:
                self._table.tick(min(budget, 60.0))
                if time.monotonic() >= deadline and not math.isinf(budget):
                    return False
            self._rows = self._table.objects()
            self._begin()
        for row in self._rows:
            self._write(row)
            if self.rows % _AT_ONCE == 0 and time.monotonic() >= deadline:
                return False
        if self._form.of_stacks:
            self._table.write_stacks(self._form, self._out)
        if self._form.binary:
            write_rows(self._cells, self._table.columns, self._out)
        return True

    def _begin(self) -> None:
        if self._form.name == "csv":
            self._columns = self._table.columns
            self._line(self._columns)

    def _write(self, row: dict[str, Any]) -> None:
        self.rows += 1
        if self._form.binary:
            self._cells += self._table.cells(row)
        elif self._form.name == "csv":
            for cells in self._table.cells(row):
                self._out.write((",".join(cell(cells.get(name)) for name in self._columns) + "\r\n").encode())
        elif not self._form.of_stacks:
            self._out.write(json_line(row).encode() + b"\n")

    def _line(self, titles: tuple[str, ...]) -> None:
        self._out.write((",".join(map(cell, column_names(titles, ()))) + "\r\n").encode())
