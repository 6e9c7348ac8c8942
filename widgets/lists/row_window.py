"""Window of a list onto its rows: size, place, scrolling to a row; apart from the cursor and from painting."""

from __future__ import annotations

from textual.scroll_view import ScrollView

from widgets.lists.follow_state import FollowState
from widgets.rows import Rows


class RowWindow:
    """Rows that a list has on the screen."""

    def __init__(self, view: ScrollView, rows: Rows, header_lines: int, follow: FollowState | None = None) -> None:
        """Take the list, its rows, and the lines above them; `follow` None: the newest rows are never followed."""
        self.rows = rows
        self.header_lines = header_lines
        self.origin = rows.first
        """Row at the upper end of the scroll bar."""
        self._view = view
        self._follow = follow

    @property
    def columns(self) -> int:
        """Columns on the screen, without the scroll bar."""
        return max(1, self._view.scrollable_content_region.width)

    @property
    def page(self) -> int:
        """Rows that fit on the screen."""
        return max(1, self._view.scrollable_content_region.height - self.header_lines)

    @property
    def top(self) -> int:
        """First row on the screen."""
        if self._follow is not None and self._follow.following:
            return self._follow.top(self.page)
        return self.origin + self._view.scroll_offset.y

    @property
    def on_screen(self) -> range:
        """Rows that are seen."""
        return range(max(self.top, self.rows.first), min(self.top + self.page, self.rows.next))

    def has(self, row: int) -> bool:
        """Return whether there is such a row, on the screen or not."""
        return self.rows.first <= row < self.rows.next

    def drop(self) -> int:
        """Move the upper end to the oldest row; return the number of rows that were dropped before it."""
        dropped = self.rows.first - self.origin
        self.origin += dropped
        return dropped

    def scroll_to(self, top: int) -> None:
        """Scroll until a row is the first on the screen."""
        self._view.scroll_to(y=max(0, top - self.origin), animate=False, force=True)

    def show_row(self, row: int) -> None:
        """Scroll as little as it takes to have a row on the screen, if there is such a row."""
        top = min(max(self.top, row - self.page + 1), row)
        if top != self.top and self.has(row):
            self.scroll_to(top)

    def show_columns(self, start: int, after: int) -> None:
        """Scroll until some columns of the rows are visible, as far as they fit."""
        left = min(max(self._view.scroll_offset.x, after + 1 - self.columns), start)
        self._view.scroll_to(x=max(0, left), animate=False, force=True)

    def refresh_row(self, row: int) -> None:
        """Draw a row again, if it is on the screen."""
        line = row - self.top
        if 0 <= line < self.page:
            self._view.refresh_line(line + self._view.scroll_offset.y + self.header_lines)
