"""A list of any length with a cursor, for keyboard and mouse."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive

from widgets.lists.line_view import LineView
from widgets.rows import Rows


class LineList(LineView, can_focus=True):
    """A `LineView` with a cursor; the base of the lists and tables here."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", show=False, id="list.up", tooltip="Cursor to the row above"),
        Binding("down", "move(1)", "Down", show=False, id="list.down", tooltip="Cursor to the row below"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="list.page_up", tooltip="One screenful up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="list.page_down", tooltip="One screenful down"),
        Binding("home", "first", "First", show=False, id="list.first", tooltip="Cursor to the first row"),
        Binding("end", "last", "Last", show=False, id="list.last", tooltip="Cursor to the last row"),
        Binding("enter", "select", "Select", show=False, id="list.select", tooltip="Take the row under the cursor"),
    ]

    cursor: reactive[int] = reactive(0, repaint=False)
    """Number of the row under the cursor."""

    class Highlighted(Message):
        """The cursor came to a row, or another row came under it."""

        def __init__(self, control: LineList, row: int) -> None:
            super().__init__()
            self.set_sender(control)  # even where a parent's handler caused it, else it would stop at that parent
            self._control = control
            self.row = row

        @property
        def control(self) -> LineList:
            """The list."""
            return self._control

    class Selected(Highlighted):
        """A row was taken: by Enter or a double click."""

    def start(self, rows: Rows) -> None:
        """Move the cursor to the first row."""
        self.set_reactive(LineList.cursor, rows.first)
        super().start(rows)
        self._tell()

    def rows_changed(self) -> None:
        """Keep the cursor on its row, or move it to the nearest one."""
        super().rows_changed()
        last = max(self._rows.first, self._rows.next - 1)
        self.cursor = min(max(self.cursor, self._rows.first), last)

    def marked(self, row: int) -> bool:
        """Return whether a row has the cursor."""
        return row == self.cursor

    def on_resize(self) -> None:
        """Keep the cursor in sight when the list becomes smaller."""
        self.call_after_refresh(self.show_cursor)

    def watch_cursor(self, old: int, new: int) -> None:
        """Repaint the two rows and tell."""
        self._refresh_row(old)
        self._refresh_row(new)
        self._tell()

    def _tell(self) -> None:
        if self._has(self.cursor):
            self.post_message(self.Highlighted(self, self.cursor))

    def show_cursor(self) -> None:
        """Scroll until the row of the cursor is visible."""
        if self._has(self.cursor):
            self.show_row(self.cursor)

    def move_to(self, row: int) -> None:
        """Cursor to a row (the nearest one that is there), and have it on the screen."""
        first, after = self._rows.first, self._rows.next
        if first < after:
            self.cursor = min(max(row, first), after - 1)
            self.show_row(self.cursor)

    def action_move(self, step: int) -> None:
        """Cursor up or down."""
        self.move_to(self.cursor + step)

    def action_page(self, step: int) -> None:
        """Cursor a screenful up or down."""
        self.move_to(self.cursor + step * max(1, self.page - 1))

    def action_first(self) -> None:
        """Cursor to the first row."""
        self.move_to(self._rows.first)

    def action_last(self) -> None:
        """Cursor to the last row."""
        self.move_to(self._rows.next - 1)

    def action_select(self) -> None:
        """Take the row under the cursor."""
        if self._has(self.cursor):
            self.post_message(self.Selected(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        """Move the cursor on a click; take the row on a double click."""
        offset = event.get_content_offset(self)
        if offset is None or offset.y < self._header_lines:
            return
        row = self.top + offset.y - self._header_lines
        if self._has(row):
            self.cursor = row
            self.clicked(row, offset.x + self.scroll_offset.x)
            if event.chain == 2:
                self.double_clicked(row)

    def double_clicked(self, row: int) -> None:  # noqa: ARG002 - it is the cursor's
        """Act on a double click; for lists where that differs from Enter."""
        self.action_select()

    def clicked(self, row: int, column: int) -> None:
        """Act on a click on a column; `column` counts from the left edge of the line."""
