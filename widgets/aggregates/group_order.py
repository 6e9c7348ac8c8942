"""Order of the rows of a table of groups, which keys and clicks change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from widgets.aggregates.group_table import GroupTable

_UNSORTABLE: Final = "this table can be sorted by keys, count and statistics"


class GroupOrder:
    """Column and direction that a table is sorted by."""

    def __init__(self, table: GroupTable) -> None:
        self.column: int | None = None
        """Number of the column; None: the first that suits."""
        self.ascending = False
        self.changed: Callable[[], None] = lambda: None
        """Fills the table in this order."""
        self._table = table
        table.turn = self.turn

    def forget(self) -> None:
        """Take the order that suits another table."""
        self.column, self.ascending = None, False

    def turn(self, step: int) -> None:
        """Sort by the column `step` columns away, the largest first."""
        if count := self._table.groups.sortable:
            self._sort(min(max(0, self._table.groups.current + step), count - 1))

    def sort_by(self, column: int) -> None:
        """Sort by a column, as its keys do; by the same again: reverse the order."""
        rows = self._table.groups
        if column >= rows.sortable:
            self._table.notify(_UNSORTABLE, markup=False)
        elif column == rows.current and rows.columns.order is not None:
            self.reverse()
        else:
            self._sort(column)

    def _sort(self, column: int) -> None:
        table = self._table
        self._use(column, ascending=column < table.groups.keys)
        table.window.show_columns(*table.groups.span(column, table.window.columns - 1))

    def reverse(self) -> None:
        """Reverse the order."""
        if self._table.groups.sortable:
            self._use(self._table.groups.current, ascending=not self.ascending)

    def _use(self, column: int, *, ascending: bool) -> None:
        """Fill the table in another order, with the cursor on its first row."""
        self.column, self.ascending = column, ascending
        self.changed()
        self._table.move_to(self._table.rows.first)
