"""A virtual list of any length with a cursor, for keyboard and mouse: only the rows on the screen are formatted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from widgets.lists.follow_state import FollowState
from widgets.lists.line_paint import COMPONENTS, LinePainter, part_of_line
from widgets.lists.row_window import RowWindow
from widgets.rows import NoRows, Piece, Rows


class LineList(ScrollView, can_focus=True):
    """Lines of `Rows` with a cursor, the base of the lists and tables here; 1,000,000 rows cost what 40 do."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", show=False, id="list.up", tooltip="Cursor to the row above"),
        Binding("down", "move(1)", "Down", show=False, id="list.down", tooltip="Cursor to the row below"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="list.page_up", tooltip="One screenful up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="list.page_down", tooltip="One screenful down"),
        Binding("home", "first", "First", show=False, id="list.first", tooltip="Cursor to the first row"),
        Binding("end", "last", "Last", show=False, id="list.last", tooltip="Cursor to the last row"),
        Binding("enter", "select", "Select", show=False, id="list.select", tooltip="Take the row under the cursor"),
    ]

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"line-list--{look}" for look in COMPONENTS}

    DEFAULT_CSS = """
    LineList {
        background: $surface;
        color: $text;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 1;
        & > .line-list--cursor {
            color: $block-cursor-blurred-foreground;
            background: $block-cursor-blurred-background;
        }
        &:focus > .line-list--cursor {
            color: $block-cursor-foreground;
            background: $block-cursor-background;
        }
        & > .line-list--header { color: $text-muted; text-style: underline; }
    }
    """

    ALLOW_SELECT = False

    cursor_scope: Widget | None = None
    """Widget that the keyboard must be in for the cursor to be drawn: of a list beside others; None: anywhere."""

    cursor: reactive[int] = reactive(0, repaint=False)
    """Number of the row under the cursor."""

    class RowMessage(Message):
        """Message about a row."""

        def __init__(self, control: LineList, row: int) -> None:
            super().__init__()
            self.set_sender(control)  # even where a parent's handler caused it, else it would stop at that parent
            self._control = control
            self.row = row

        @property
        def control(self) -> LineList:
            """The list."""
            return self._control

    class Highlighted(RowMessage):
        """The cursor came to a row, or another row came under it."""

    class Selected(RowMessage):
        """A row was taken: by Enter or a double click."""

    def __init__(
        self,
        rows: Rows | None = None,
        *,
        header: bool = False,
        follow: FollowState | None = None,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self.window = RowWindow(self, rows or NoRows(), int(header), follow)
        self._painter = LinePainter(self)
        self._seen = (1, 1, 0, True)
        """Columns on the screen, columns of a row, first row and whether the cursor is drawn, for the picture that is
        being made.
        """

    def on_mount(self) -> None:
        """Set the extent of the rows that were given at construction."""
        self.rows_changed()
        if self.cursor_scope is not None:
            self.watch(self.screen, "focused", lambda: self.window.refresh_row(self.cursor), init=False)

    @property
    def rows(self) -> Rows:
        """The source; setting one starts at its first row."""
        return self.window.rows

    @rows.setter
    def rows(self, rows: Rows) -> None:
        self.window.rows, self.window.origin = rows, rows.first
        self.start(rows)

    def start(self, rows: Rows) -> None:
        """Show rows from their first one, with the cursor on it."""
        self.set_reactive(LineList.cursor, rows.first)
        self.rows_changed()
        self.window.scroll_to(rows.first)
        self._tell()

    def header(self, columns: int) -> Iterable[Piece]:  # noqa: ARG002 - for those who have one
        """Return the line above the rows, which does not scroll."""
        return ()

    def wanted_columns(self) -> int:
        """Return the columns that a row needs; if more than fit, the list scrolls sideways."""
        return 0

    def rows_changed(self) -> None:
        """Forget all painted rows and paint again: the source has other rows, or they look different.

        The cursor stays on its row, or moves to the nearest one.
        """
        self._painter.forget()
        self.sync_extent()
        self.refresh()
        self.cursor = min(max(self.cursor, self.rows.first), max(self.rows.first, self.rows.next - 1))

    def repaint_row(self, row: int) -> None:
        """Repaint one row."""
        self._painter.forget(row)
        self.window.refresh_row(row)

    def sync_extent(self) -> None:
        """Tell the scroll bar how many rows there are; the row at the top stays where it is."""
        top = self.window.top  # before the list becomes shorter, which may move the scroll bar
        dropped = self.window.drop()
        count = self.rows.next - self.rows.first
        self.virtual_size = Size(max(self.wanted_columns(), 1), count + self.window.header_lines)
        if dropped:
            self.window.scroll_to(top)

    def notify_style_update(self) -> None:
        """Theme or focus changed: every style is another one."""
        super().notify_style_update()
        self._painter.forget_styles()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Ask once a picture, not at each line: Textual looks a size up from the root of the screen."""
        columns, scope = self.window.columns, self.cursor_scope
        has_cursor = scope is None or scope.has_focus or scope.has_focus_within
        self._seen = columns, max(columns, self.wanted_columns()), self.window.top, has_cursor
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Return a line of the screen."""
        columns, width, top, has_cursor = self._seen
        row = top + y - self.window.header_lines
        if y < self.window.header_lines:
            strip = self._painter.line(self.header(width), width, look="header")
        elif self._is_drawn(row):
            strip = self._painter.row(self.rows, row, width, row == self.cursor and has_cursor)
        else:
            return self._painter.blank(columns)
        return strip if width == columns else part_of_line(strip, self.scroll_offset.x, columns)

    def _is_drawn(self, row: int) -> bool:
        """Return whether a row is drawn; for views that hold some rows back."""
        return self.window.has(row)

    def on_resize(self) -> None:
        """Keep the cursor in sight when the list becomes smaller."""
        self.call_after_refresh(lambda: self.window.show_row(self.cursor))

    def watch_cursor(self, old: int, new: int) -> None:
        """Repaint the two rows and tell."""
        self.window.refresh_row(old)
        self.window.refresh_row(new)
        self._tell()

    def _tell(self) -> None:
        if self.window.has(self.cursor):
            self.post_message(self.Highlighted(self, self.cursor))

    def move_to(self, row: int) -> None:
        """Cursor to a row (the nearest one that is there), and have it on the screen."""
        first, after = self.rows.first, self.rows.next
        if first < after:
            self.cursor = min(max(row, first), after - 1)
            self.window.show_row(self.cursor)

    def action_move(self, step: int) -> None:
        """Cursor up or down."""
        self.move_to(self.cursor + step)

    def action_page(self, step: int) -> None:
        """Cursor a screenful up or down."""
        self.move_to(self.cursor + step * max(1, self.window.page - 1))

    def action_first(self) -> None:
        """Cursor to the first row."""
        self.move_to(self.rows.first)

    def action_last(self) -> None:
        """Cursor to the last row."""
        self.move_to(self.rows.next - 1)

    def action_select(self) -> None:
        """Take the row under the cursor."""
        if self.window.has(self.cursor):
            self.post_message(self.Selected(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        """Move the cursor on a click; take the row on a double click."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        if offset.y < self.window.header_lines:
            self.heading_clicked(offset.x + self.scroll_offset.x)
            return
        row = self.window.top + offset.y - self.window.header_lines
        if self.window.has(row):
            self.cursor = row
            self.clicked(row, offset.x + self.scroll_offset.x, event.chain)

    def heading_clicked(self, column: int) -> None:
        """Act on a click on the line above the rows, on a column counted from its left edge: nothing."""

    def clicked(self, row: int, column: int, times: int) -> None:  # noqa: ARG002 - the row is the cursor's
        """Act on a click on a column, counted from the left edge of the line: take the row at the second one."""
        if times == 2:
            self.action_select()
