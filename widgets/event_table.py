"""Live events: the newest at the bottom as long as one follows, any of millions when one does not.

`tick()` is called when there may be news, 10 to 15 times a second; without news it does nothing. While following, the
table shows the last rows of the store whatever the scroll bar says, which learns of the new length a few times a
second only: a layout at each tick would double the cost of a picture.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from widgets.event_rows import Cells, EventRows, EventStore, NoEvents
from widgets.figures import grouped
from widgets.line_list import LineList
from widgets.rows import Piece
from widgets.safe_text import width

_EXTENT_EVERY: Final = 0.3
"""Seconds between two updates of the scroll bar."""


class EventTable(LineList):
    """A table over an `EventStore`, addressed by sequence numbers; see the module."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "space", "follow", "Pause/follow", id="events.follow", tooltip="Hold the picture, or follow what is new"
        ),
        Binding(
            "enter",
            "select",
            "Details",
            key_display="enter",
            id="events.details",
            tooltip="Every field of the event under the cursor",
        ),
        Binding("end", "last", "Newest", show=False, id="events.last", tooltip="To the newest event, and follow"),
        Binding("left", "sideways(-8)", "Left", show=False, id="events.left", tooltip="Columns to the left"),
        Binding("right", "sideways(8)", "Right", show=False, id="events.right", tooltip="Columns to the right"),
    ]

    DEFAULT_CSS = """
    EventTable { overflow-x: auto; overflow-y: scroll; }
    """

    following: reactive[bool] = reactive(True, repaint=False)
    """Whether the newest events are shown."""
    search: reactive[str] = reactive("", repaint=False)
    """Text that is highlighted."""

    class DetailRequested(Message):
        """Every field of an event is wanted."""

        def __init__(self, seq: int) -> None:
            super().__init__()
            self.seq = seq

    class Followed(Message):
        """The table follows now, or it does not."""

        def __init__(self, following: bool) -> None:
            super().__init__()
            self.following = following

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(header=True, name=name, id=id, classes=classes)
        self._events = EventRows(NoEvents(), (), lambda event: {})  # noqa: ARG005 - there is none
        self._shown = (0, 0)
        self._left_at = 0
        self._moving = False
        self._extent_timer: Timer | None = None
        self._extent_at = 0.0

    def show(self, store: EventStore, fields: Sequence[str], cells: Cells) -> None:
        """Show another store, or other columns; follows."""
        self._events = EventRows(store, fields, cells)
        self._events.search = self.search
        self._shown = (store.first_seq, store.next_seq)
        self._moving = True  # to its first row: not the user's doing
        self.rows = self._events
        self._moving = False
        self._resume()

    @property
    def store(self) -> EventStore:
        """What is shown."""
        return self._events.store

    def names_changed(self) -> None:
        """Tasks got names: format rows anew."""
        self._events.forget()
        self._painter.forget()
        self.refresh()

    def tick(self) -> None:
        """Look for news, and paint if there are any."""
        store = self._events.store
        now = (store.first_seq, store.next_seq)
        if now == self._shown:
            return
        self._shown = now
        if self.following:
            self.refresh()
        else:
            self.refresh(Region(0, 0, self.size.width, 1))
        if self._extent_timer is None:
            wait = max(0.01, self._extent_at + _EXTENT_EVERY - time.monotonic())
            self._extent_timer = self.set_timer(wait, self._late_extent)

    # -- what is on the screen -------------------------------------------------------------------------------------

    @property
    def top(self) -> int:
        """First row on the screen."""
        if self.following:
            return max(self._shown[0], self._shown[1] - self.page)
        return super().top

    def wanted_columns(self) -> int:
        """What the columns take, with the mark of the cursor."""
        return 1 + self._events.columns.total(self.columns - 1)

    def header(self, columns: int) -> Iterable[Piece]:
        """Titles, and what came since one stopped to follow."""
        new = self._shown[1] - self._left_at
        note = "" if self.following or new <= 0 else f" +{grouped(new)} new (end) "
        pieces = [Piece(" "), *self._events.header(columns - 1)]
        if not note:
            return pieces
        room = self.scroll_offset.x + self.columns - width(note)
        line = "".join(piece.text for piece in pieces)
        return [Piece(line[:room].ljust(room)), Piece(note, "match")]

    def render_lines(self, crop: Region) -> list[Strip]:
        """Format what will be seen first: it may need wider columns."""
        first = max(self.top, self._events.first)
        if self._events.prepare(first, min(first + self.page, self._events.next)):
            self._painter.forget()
            self.refresh()
        return super().render_lines(crop)

    def rows_changed(self) -> None:
        """All rows look different."""
        super().rows_changed()
        if self.following:
            self.set_reactive(LineList.cursor, -1)

    def sync_extent(self) -> None:
        """Tell the scroll bar, without a layout: it is always there."""
        self._extent_at = time.monotonic()
        shift = self._events.first - self._origin
        self._origin += shift
        size = Size(self.wanted_columns(), self._events.next - self._events.first + self._header_lines)
        if size.width != self.virtual_size.width or not self.is_attached:
            self.virtual_size = size
        else:
            self.set_reactive(Widget.virtual_size, size)
            self._scroll_update(size)
        if self.following:
            self._scroll_to_row(self._events.next - self.page)
        elif shift:
            self._scroll_to_row(self._origin + max(0, self.scroll_offset.y - shift))
            self.cursor = max(self.cursor, self._events.first)
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

    def watch_search(self, search: str) -> None:
        """Highlight it where it is on the screen."""
        self._events.search = search
        self._painter.forget()
        self.refresh()

    # -- following -------------------------------------------------------------------------------------------------

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling up by hand ends following; the picture goes on from where it was."""
        super().watch_scroll_y(old_value, new_value)
        if self.following and not self._moving and new_value < old_value:
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
        self.cursor = max(bottom, self._events.first)
        self.refresh()

    def _resume(self) -> None:
        store = self._events.store
        self._shown = (store.first_seq, store.next_seq)
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

    def action_move(self, step: int) -> None:
        """Cursor up or down, from the newest event while following."""
        if self.following:
            self._stop(self.top)
        super().action_move(step)

    def action_page(self, step: int) -> None:
        """Cursor a screenful up or down, from the newest event while following."""
        if self.following:
            self._stop(self.top)
        super().action_page(step)

    def action_last(self) -> None:
        """To the newest event, and follow."""
        self._resume()

    def action_select(self) -> None:
        """Ask for the details of the event under the cursor, or of the newest."""
        if self.following and self._shown[1] > self._shown[0]:
            self._stop(self.top)
        if self._has(self.cursor):
            self.post_message(self.DetailRequested(self.cursor).set_sender(self))

    def clicked(self, row: int, column: int) -> None:  # noqa: ARG002 - any column
        """A click holds the picture: who reads a row does not want it to run away."""
        if self.following:
            self._stop(self.top)
            self.cursor = row

    def action_sideways(self, step: int) -> None:
        """Other columns."""
        self.scroll_to(x=self.scroll_offset.x + step, animate=False, force=True)
