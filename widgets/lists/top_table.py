"""A table of a fixed order: it starts at its top, and does not follow new rows."""

from __future__ import annotations

from widgets.lists.table_rows import TableRows
from widgets.lists.tail_table import TailTable


class TopTable(TailTable):
    """Table whose rows are replaced as a whole; it starts at its top."""

    def __init__(self, rows: TableRows) -> None:
        super().__init__(rows, following=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Disable following: there is no newest row."""
        return action != "follow"

    def rows_replaced(self, number: int) -> None:
        """Paint `number` other rows; the cursor stays in its place."""
        self.follow.see(0, number)
        self.follow.stop()
        self.rows_changed()
