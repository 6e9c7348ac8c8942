"""A table of a fixed order: it starts at its top, and does not follow new rows."""

from __future__ import annotations

from collections.abc import Callable

from widgets.lists.table_rows import TableRows
from widgets.lists.tail_table import TailTable


class TopTable(TailTable):
    """Table whose rows are replaced as a whole; it starts at its top."""

    def __init__(self, rows: TableRows) -> None:
        super().__init__(rows, following=False)
        self.hold_or_go_on: Callable[[], bool] | None = None
        """Holds the rows as they are, or replaces them again, and returns whether they are; None: can't hold them."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Disable following where rows can't be held: there is no newest row."""
        return action != "follow" or self.hold_or_go_on is not None

    def action_follow(self) -> None:
        """Hold the rows as they are, or replace them again by what comes."""
        if self.hold_or_go_on is not None:
            self.post_message(self.Followed(self.hold_or_go_on()).set_sender(self))

    def action_last(self) -> None:
        """Cursor to the last row."""
        self.move_to(self.rows.next - 1)

    def rows_replaced(self, number: int, *, at_top: bool = False) -> None:
        """Paint `number` other rows; the cursor stays in its place, or goes to the first row."""
        self.follow.see(0, number)
        self.follow.stop()
        self.rows_changed()
        if at_top:
            self.move_to(self.rows.first)
