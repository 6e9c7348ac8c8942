"""A table that grows at its end: the newest rows at the bottom as long as one follows, any row when one does not.

`tick()` is called when there may be news, 10 to 15 times a second; without news it does nothing. While following, the
list shows the last rows of its source whatever the scroll bar says, which learns of the new length a few times a
second only: a layout at each tick would double the cost of a picture.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from widgets.call_after import call_after
from widgets.lists.follow_control import FollowControl
from widgets.lists.follow_state import FollowState
from widgets.lists.line_list import LineList
from widgets.lists.table_rows import EmptyTable, TableRows
from widgets.rows import Piece, Rows

_EXTENT_EVERY: Final = 0.3
"""Seconds between two updates of the scroll bar."""
_SIDEWAYS: Final = 8
"""Columns of the screen that one press of a key scrolls."""


class TailTable(LineList):
    """A table over `TableRows` that follows: columns that widen with what is seen, found text highlighted."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "select",
            "Details",
            key_display="enter",
            id="events.details",
            tooltip="Details of the row under the cursor",
        ),
        Binding("left", "sideways(-1)", "Left", show=False, id="events.left", tooltip="The columns to the left"),
        Binding(
            "right",
            "sideways(1)",
            "Right",
            show=False,
            id="events.right",
            tooltip="The columns to the right; of events, those of the kind under the cursor",
        ),
        Binding(
            "space", "follow", "Pause/follow", id="events.follow", tooltip="Hold the picture, or follow what is new"
        ),
        Binding(
            "end", "last", "Newest", show=False, id="events.last", tooltip="To the last row; follow where rows come"
        ),
    ]

    DEFAULT_CSS = """
    TailTable { overflow-x: auto; overflow-y: scroll; }
    """

    search: reactive[str] = reactive("", repaint=False)
    """Text that is highlighted."""

    class DetailRequested(Message):
        """All there is about a row is wanted."""

        def __init__(self, row: int) -> None:
            super().__init__()
            self.row = row

    class Followed(Message):
        """The table follows now, or it does not."""

        def __init__(self, following: bool) -> None:
            super().__init__()
            self.following = following

    class HeadingClicked(Message):
        """The title of a column was clicked."""

        def __init__(self, column: int) -> None:
            super().__init__()
            self.column = column
            """Number of the column among those that are shown."""

    def __init__(self, rows: TableRows | None = None, *, following: bool = True) -> None:
        """Take the rows; `following`: show the newest of them."""
        self.source: TableRows = rows or EmptyTable()
        """Rows of the table; `show` sets others."""
        self.follow = FollowState(self.source.first, self.source.next, following=following)
        """Rows as of the last `tick`, and the place that one stopped to follow at."""
        self.turn: Callable[[int], None] | None = None
        """Goes to another column, where one can; else the table scrolls."""
        super().__init__(self.source, header=True, follow=self.follow)
        self.follower = FollowControl(
            self, self.follow, lambda: self.post_message(self.Followed(self.follow.following).set_sender(self))
        )
        self._extent_timer: Timer | None = None
        self._extent_at = 0.0

    def on_mount(self) -> None:
        """Tell whether it follows."""
        self.post_message(self.Followed(self.follow.following).set_sender(self))

    def start(self, rows: Rows) -> None:
        """Follow other rows."""
        self.follower.scrolling = True  # to their first row
        super().start(rows)
        self.follower.scrolling = False
        self.follower.resume()

    def tick(self) -> None:
        """Look for news, and paint if there are any."""
        if not self.follow.see(self.rows.first, self.rows.next):
            return
        if self.follow.following:
            self.refresh()
        # Within the picture that is due anyway; by itself only when no more news come.
        if time.monotonic() - self._extent_at >= _EXTENT_EVERY:
            self.sync_extent()
        elif self._extent_timer is None:
            self._extent_timer = call_after(self, _EXTENT_EVERY, self.sync_extent)
        else:
            self._extent_timer.reset()

    def rows_changed(self) -> None:
        """Paint all rows again: they look different."""
        self.follow.keeps_room = False
        super().rows_changed()
        if self.follow.following:
            self.set_reactive(LineList.cursor, -1)

    def watch_cursor(self, old: int, new: int) -> None:
        """Draw the new rows if the cursor came to one."""
        if self.follow.reach(new):
            self.refresh()
        super().watch_cursor(old, new)

    def _is_drawn(self, row: int) -> bool:
        return super()._is_drawn(row) and not self.follow.is_held_back(row, self.window.top)

    def sync_extent(self) -> None:
        """Tell the scroll bar, without a layout: it is always there."""
        self._extent_at = time.monotonic()
        if self._extent_timer is not None:
            self._extent_timer.stop()
            self._extent_timer = None
        window, rows = self.window, self.rows
        top = window.top  # before the list becomes shorter, which may move the scroll bar
        dropped = window.drop()
        size = Size(max(1, self.wanted_columns()), rows.next - rows.first + window.header_lines)
        if size.width != self.virtual_size.width or not self.is_attached:
            self.virtual_size = size
        else:
            self.set_reactive(Widget.virtual_size, size)
            self._scroll_update(size)
        if self.follow.following:
            self.follower.scroll_to(rows.next - window.page)
        elif dropped:
            self.follower.scroll_to(top)
            self.cursor = max(self.cursor, rows.first)
            self.refresh()

    def on_resize(self) -> None:
        """Stay at the end, or keep the cursor in sight."""
        super().on_resize()
        self.sync_extent()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Stop following when a person scrolls up; the shown rows stay."""
        super().watch_scroll_y(old_value, new_value)
        # At the end still: the list became higher (a line below it went), nobody scrolled.
        if self.follow.following and not self.follower.scrolling and new_value < min(old_value, self.max_scroll_y):
            self.follower.stop(self.window.top + round(new_value - old_value))

    def action_follow(self) -> None:
        """Hold the picture, or follow."""
        if self.follow.following:
            self.follower.stand()
        else:
            self.follower.resume()

    def move_to(self, row: int) -> None:
        """Cursor to a row, which ends following."""
        self.follower.stand()
        super().move_to(row)

    def go_to(self, row: int) -> None:
        """Cursor to a row from afar: with some of what came before it on the screen."""
        window = self.window
        if not window.top <= row < window.top + window.page:
            super().move_to(row - window.page // 3)
            super().move_to(row + window.page // 3)
        self.move_to(row)

    def action_move(self, step: int) -> None:
        """Cursor up or down, from the newest row while following."""
        self.follower.stand()
        super().action_move(step)

    def action_page(self, step: int) -> None:
        """Cursor a screenful up or down, from the newest row while following."""
        self.follower.stand()
        super().action_page(step)

    def action_last(self) -> None:
        """Go to the newest row, and follow."""
        self.follower.resume()

    def heading_clicked(self, column: int) -> None:
        """Tell which title was clicked; the first column has the mark of the cursor."""
        if (found := self.source.column_at(column - 1, self.window.columns - 1)) is not None:
            self.post_message(self.HeadingClicked(found).set_sender(self))

    def clicked(self, row: int, column: int, times: int) -> None:
        """Hold the picture on a click: a row that is read should not scroll away."""
        if self.follow.following:
            self.follower.stand()
            self.cursor = row
        super().clicked(row, column, times)

    def show(self, rows: TableRows) -> None:
        """Show other rows; follows."""
        self.source = rows
        rows.search = self.search
        self.rows = rows

    def names_changed(self) -> None:
        """Format all rows anew: tasks got names."""
        self.source.forget()
        self._painter.forget()
        self.refresh()

    def wanted_columns(self) -> int:
        """Return the width of the columns with the mark of the cursor."""
        return 1 + self.source.total(self.window.columns - 1)

    def header(self, columns: int) -> Iterable[Piece]:
        """Return the titles above their columns."""
        return [Piece(" "), *self.source.header(columns - 1)]

    def render_lines(self, crop: Region) -> list[Strip]:
        """Format what will be seen first: it may need wider columns."""
        first = max(self.window.top, self.source.first)
        if self.source.prepare(first, min(first + self.window.page, self.source.next)):
            self._painter.forget()
            self.refresh()
            self.call_after_refresh(self.sync_extent)
        return super().render_lines(crop)

    def watch_search(self, search: str) -> None:
        """Highlight it where it is on the screen."""
        self.source.search = search
        self._painter.forget()
        self.refresh()

    def action_select(self) -> None:
        """Ask for the details of the row under the cursor, or of the newest."""
        if self.follow.after > self.follow.first:
            self.follower.stand()
        if self.window.has(self.cursor):
            self.post_message(self.DetailRequested(self.cursor).set_sender(self))

    def action_sideways(self, step: int) -> None:
        """Scroll to the right, or to the left."""
        if self.turn is not None:
            self.turn(step)
        else:
            self.scroll_to(x=self.scroll_offset.x + step * _SIDEWAYS, animate=False, force=True)
