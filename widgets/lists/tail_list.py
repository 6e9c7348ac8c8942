"""A list that grows: the newest rows at the bottom as long as one follows, any row when one does not.

`tick()` is called when there may be news, 10 to 15 times a second; without news it does nothing. While following, the
list shows the last rows of its source whatever the scroll bar says, which learns of the new length a few times a
second only: a layout at each tick would double the cost of a picture.
"""

from __future__ import annotations

import time
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget

from widgets.lists.line_list import LineList
from widgets.rows import Rows

_EXTENT_EVERY: Final = 0.3
"""Seconds between two updates of the scroll bar."""


class TailList(LineList):
    """A `LineList` that follows; see the module."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "space", "follow", "Pause/follow", id="events.follow", tooltip="Hold the picture, or follow what is new"
        ),
        Binding("end", "last", "Newest", show=False, id="events.last", tooltip="To the newest row, and follow"),
    ]

    DEFAULT_CSS = """
    TailList { overflow-y: scroll; }
    """

    following: reactive[bool] = reactive(True, repaint=False)
    """True while the newest rows are shown."""

    class Followed(Message):
        """The table follows now, or it does not."""

        def __init__(self, following: bool) -> None:
            super().__init__()
            self.following = following

    def __init__(
        self,
        rows: Rows | None = None,
        *,
        header: bool = False,
    ) -> None:
        super().__init__(rows, header=header)
        self._shown = (self._rows.first, self._rows.next)
        self._left_at = 0
        self._still = False
        """The picture was left with room below its rows, which stays free until one goes to what is new."""
        self._moving = False
        self._extent_timer: Timer | None = None
        self._extent_at = 0.0

    def start(self, rows: Rows) -> None:
        """Follow other rows."""
        self._moving = True  # to their first row: not the user's doing
        super().start(rows)
        self._moving = False
        self._resume()

    @property
    def new(self) -> int:
        """Rows that came since one stopped to follow."""
        return 0 if self.following else self._shown[1] - self._left_at

    @property
    def left_at(self) -> int:
        """Row that came next when one stopped to follow."""
        return self._shown[1] if self.following else self._left_at

    def tick(self) -> None:
        """Look for news, and paint if there are any."""
        now = (self._rows.first, self._rows.next)
        if now == self._shown:
            return
        self._shown = now
        if self.following:
            self.refresh()
        # Within the picture that is due anyway; by itself only when no more news come.
        if time.monotonic() - self._extent_at >= _EXTENT_EVERY:
            self.sync_extent()
        elif self._extent_timer is None:
            self._extent_timer = self.set_timer(_EXTENT_EVERY, self._late_extent)
        else:
            self._extent_timer.reset()

    @property
    def top(self) -> int:
        """First row on the screen."""
        if self.following:
            return max(self._shown[0], self._shown[1] - self.page)
        return super().top

    def rows_changed(self) -> None:
        """All rows look different."""
        self._still = False
        super().rows_changed()
        if self.following:
            self.set_reactive(LineList.cursor, -1)

    def watch_cursor(self, old: int, new: int) -> None:
        """Follow the newest row if the cursor is on it."""
        if self._still and new >= self._left_at:
            self._still = False
            self.refresh()
        super().watch_cursor(old, new)

    def _is_drawn(self, row: int) -> bool:
        held = self._still and row >= self._left_at and self.top <= self._rows.first
        return super()._is_drawn(row) and not held

    def sync_extent(self) -> None:
        """Tell the scroll bar, without a layout: it is always there."""
        self._extent_at = time.monotonic()
        shift = self._rows.first - self._origin
        self._origin += shift
        size = Size(max(1, self.wanted_columns()), self._rows.next - self._rows.first + self._header_lines)
        if size.width != self.virtual_size.width or not self.is_attached:
            self.virtual_size = size
        else:
            self.set_reactive(Widget.virtual_size, size)
            self._scroll_update(size)
        if self.following:
            self._scroll_to_row(self._rows.next - self.page)
        elif shift:
            self._scroll_to_row(self._origin + max(0, self.scroll_offset.y - shift))
            self.cursor = max(self.cursor, self._rows.first)
            self.refresh()

    def _late_extent(self) -> None:
        self._extent_timer = None
        self.sync_extent()

    def _scroll_to_row(self, top: int) -> None:
        self._moving = True
        self.scroll_to(y=max(0, top - self._origin), animate=False, force=True)
        self._moving = False

    def on_resize(self) -> None:
        """Stay at the end, or keep the cursor in sight."""
        super().on_resize()
        self.sync_extent()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling up by hand ends following; the picture goes on from where it was."""
        super().watch_scroll_y(old_value, new_value)
        # At the end still: the list became higher (a line below it went), nobody scrolled.
        if self.following and not self._moving and new_value < min(old_value, self.max_scroll_y):
            self._stop(self.top + round(new_value - old_value))

    def watch_following(self, following: bool) -> None:
        """Tell."""
        self.post_message(self.Followed(following).set_sender(self))

    def _stop(self, top: int) -> None:
        bottom = self._shown[1] - 1
        self._left_at = self._shown[1]
        self.following = False
        self.sync_extent()
        self._scroll_to_row(top)
        self.cursor = max(bottom, self._rows.first)
        self._still = True
        self.refresh()

    def _resume(self) -> None:
        self._still = False
        self._shown = (self._rows.first, self._rows.next)
        self.following = True
        self.set_reactive(LineList.cursor, -1)
        self.sync_extent()
        self.refresh()

    def action_follow(self) -> None:
        """Hold the picture, or follow."""
        if self.following:
            self._stop(self.top)
        else:
            self._resume()

    def move_to(self, row: int) -> None:
        """Cursor to a row, which ends following."""
        if self.following:
            self._stop(self.top)
        super().move_to(row)

    def go_to(self, row: int) -> None:
        """Cursor to a row from afar: with some of what came before it on the screen."""
        if not self.top <= row < self.top + self.page:
            super().move_to(row - self.page // 3)
            super().move_to(row + self.page // 3)
        self.move_to(row)

    def hold(self, row: int, above: int, left_at: int) -> None:
        """Stop to follow with the cursor on a row and so many rows above it; what came from `left_at` on is new."""
        self.move_to(row)
        if not self.following:
            self._scroll_to_row(self.cursor - above)
            self._left_at = min(left_at, self._shown[1])
            self._still = self.cursor < self._left_at

    def action_move(self, step: int) -> None:
        """Cursor up or down, from the newest row while following."""
        if self.following:
            self._stop(self.top)
        super().action_move(step)

    def action_page(self, step: int) -> None:
        """Cursor a screenful up or down, from the newest row while following."""
        if self.following:
            self._stop(self.top)
        super().action_page(step)

    def action_last(self) -> None:
        """Go to the newest row, and follow."""
        self._resume()

    def clicked(self, row: int, column: int) -> None:  # noqa: ARG002 - any column
        """Hold the picture on a click: a row that is read should not scroll away."""
        if self.following:
            self._stop(self.top)
            self.cursor = row
