"""Switch a table between following its newest rows and standing still, and scroll it accordingly."""

from __future__ import annotations

from collections.abc import Callable

from widgets.lists.follow_state import FollowState
from widgets.lists.line_list import LineList


class FollowControl:
    """Control that ends and resumes following."""

    def __init__(self, table: LineList, state: FollowState, tell: Callable[[], object]) -> None:
        """Take the table, its state, and a function that is called when following ends or is resumed."""
        self.scrolling = False
        """True while the table scrolls by itself, not by the user's doing."""
        self._table = table
        self._state = state
        self._tell = tell

    def stand(self) -> None:
        """Hold the picture as it is, if rows are followed."""
        if self._state.following:
            self.stop(self._table.window.top)

    def stop(self, top: int) -> None:
        """Follow no more, with a row as the first on the screen and the cursor on the newest."""
        newest = self._state.stop()
        self._tell()
        self._table.sync_extent()
        self.scroll_to(top)
        self._table.cursor = newest
        self._state.keeps_room = True
        self._table.refresh()

    def resume(self) -> None:
        """Follow the newest rows."""
        before, rows = self._state.following, self._table.rows
        self._state.resume(rows.first, rows.next)
        if not before:
            self._tell()
        self._table.set_reactive(LineList.cursor, -1)
        self._table.sync_extent()
        self._table.refresh()

    def hold(self, row: int, above: int, left_at: int) -> None:
        """Stop to follow with the cursor on a row and so many rows above it; rows from `left_at` on are new."""
        self._table.sync_extent()  # it could not scroll to rows that the scroll bar does not know of
        self._table.move_to(row)
        if not self._state.following:
            self.scroll_to(self._table.cursor - above)
            self._state.hold(self._table.cursor, left_at)

    def replace(self, refill: Callable[[], object]) -> None:
        """Replace the rows with `refill`; a picture that stands still keeps its place."""
        table, left_at, following = self._table, self._state.left_at, self._state.following
        cursor, above = table.cursor, table.cursor - table.window.top
        refill()
        if not following:
            self.hold(cursor, above, left_at)

    def scroll_to(self, top: int) -> None:
        """Scroll until a row is the first on the screen."""
        self.scrolling = True
        self._table.window.scroll_to(top)
        self.scrolling = False
