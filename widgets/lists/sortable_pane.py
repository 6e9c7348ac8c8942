"""A table with a search line whose rows a key, or a click on the title of a column, sorts."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from textual import on
from textual.binding import Binding, BindingType

from widgets.lists.row_order import OrderedRows
from widgets.lists.table_pane import TablePane
from widgets.lists.tail_table import TailTable

SORT: Final = Binding(
    "S",
    "sort",
    "Sort",
    show=False,
    tooltip="Sort by a column (calls: by latency), as a click on its title does; again: reversed; again: as before",
)
"""Key of the panes whose rows can be sorted."""


class SortablePane(TablePane):
    """Pane of a table whose rows can be sorted."""

    BINDINGS: ClassVar[list[BindingType]] = [SORT]

    def __init__(
        self,
        table: TailTable,
        ordered: OrderedRows[Any],
        *,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        """Take the table, and the rows that are sorted: its own, or those of another one."""
        super().__init__(id=id)
        self.table = table
        self.ordered = ordered

    def action_sort(self) -> None:
        """Ask for the column to sort by; if there is one, reverse the order, then restore the first one."""
        from widgets.dialogs.pick_list import PickList

        ordered = self.ordered
        if ordered.order.column is not None:
            ordered.sort(None)
            return

        def use(column: int | None) -> None:
            if column is not None:
                ordered.sort(column)

        self.app.push_screen(PickList("sort by which column?", ordered.titles), use)

    @on(TailTable.HeadingClicked)
    def _heading_clicked(self, event: TailTable.HeadingClicked) -> None:
        event.stop()
        self.sort_by(event.column)

    def sort_by(self, column: int) -> None:
        """Sort by the column whose title was clicked."""
        self.ordered.sort(column)
