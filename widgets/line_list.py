"""A list of any length, drawn line by line: only the rows on the screen are ever formatted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from widgets.line_paint import LOOKS, LinePainter
from widgets.rows import NoRows, Piece, Rows
from widgets.type_ahead import TypeAhead


class LineList(TypeAhead, ScrollView, can_focus=True):
    """A virtual list with a cursor over `Rows`; 1,000,000 rows cost what 40 do."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", show=False, id="list.up", tooltip="Cursor to the row above"),
        Binding("down", "move(1)", "Down", show=False, id="list.down", tooltip="Cursor to the row below"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="list.page_up", tooltip="One screenful up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="list.page_down", tooltip="One screenful down"),
        Binding("home", "first", "First", show=False, id="list.first", tooltip="Cursor to the first row"),
        Binding("end", "last", "Last", show=False, id="list.last", tooltip="Cursor to the last row"),
        Binding("enter", "select", "Select", show=False, id="list.select", tooltip="Take the row under the cursor"),
    ]

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"line-list--{look}" for look in LOOKS}

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
        & > .line-list--dim { color: $text-muted; }
        & > .line-list--name { text-style: bold; }
        & > .line-list--type { color: $text-primary; }
        & > .line-list--number { color: $text-warning; }
        & > .line-list--match { color: $text-accent; text-style: bold underline; }
        & > .line-list--mark { color: $text-success; text-style: bold; }
        & > .line-list--good { color: $text-success; }
        & > .line-list--bad { color: $text-error; text-style: bold; }
        & > .line-list--warn { color: $text-warning; }
        & > .line-list--key { color: $text-accent; text-style: bold; }
    }
    """

    ALLOW_SELECT = False
    MOVING_KEYS: ClassVar[frozenset[str]] = frozenset({"enter", "slash"})

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

    def __init__(
        self,
        rows: Rows | None = None,
        *,
        header: bool = False,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._rows: Rows = rows or NoRows()
        self._header_lines = int(header)
        self._origin = self._rows.first
        self._painter = LinePainter(self)

    def on_mount(self) -> None:
        """Rows that were given at birth have an extent only now."""
        self.rows_changed()

    # -- what is shown ---------------------------------------------------------------------------------------------

    @property
    def rows(self) -> Rows:
        """The source; setting one starts at its first row."""
        return self._rows

    @rows.setter
    def rows(self, rows: Rows) -> None:
        self._rows = rows
        self.set_reactive(LineList.cursor, rows.first)
        self._origin = rows.first
        self.rows_changed()
        self.scroll_to(y=0, animate=False, force=True)
        self._tell()

    @property
    def columns(self) -> int:
        """Columns on the screen, without the scroll bar."""
        return max(1, self.scrollable_content_region.width)

    @property
    def page(self) -> int:
        """Rows that fit on the screen."""
        return max(1, self.scrollable_content_region.height - self._header_lines)

    @property
    def top(self) -> int:
        """Number of the first row on the screen."""
        return self._origin + self.scroll_offset.y

    def header(self, columns: int) -> Iterable[Piece]:  # noqa: ARG002 - for those who have one
        """The line that stays above the rows."""
        return ()

    def wanted_columns(self) -> int:
        """Columns a row needs; more than there are makes the list scroll sideways."""
        return 0

    def rows_changed(self) -> None:
        """The source has other rows now, or they look different: forget what was drawn and paint again."""
        self._painter.forget()
        self.sync_extent()
        last = max(self._rows.first, self._rows.next - 1)
        self.cursor = min(max(self.cursor, self._rows.first), last)
        self.refresh()

    def repaint_row(self, row: int) -> None:
        """One row looks different."""
        self._painter.forget(row)
        self._refresh_row(row)

    def sync_extent(self) -> None:
        """Tell the scroll bar how many rows there are; the row at the top stays where it is."""
        shift = self._rows.first - self._origin
        self._origin += shift
        count = self._rows.next - self._rows.first
        self.virtual_size = Size(max(self.wanted_columns(), 1), count + self._header_lines)
        if shift:
            self.scroll_to(y=max(0, self.scroll_offset.y - shift), animate=False, force=True)

    def on_resize(self) -> None:
        """Keep the cursor in sight when the list becomes smaller."""
        self.call_after_refresh(self.show_cursor)

    def notify_style_update(self) -> None:
        """Theme or focus changed: every style is another one."""
        super().notify_style_update()
        self._painter.forget_styles()

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        columns = self.columns
        width = max(columns, self.wanted_columns())
        row = self.top + y - self._header_lines
        if y < self._header_lines:
            strip = self._painter.line(self.header(width), width, look="header")
        elif self._has(row):
            strip = self._painter.row(self._rows, row, width, row == self.cursor)
        else:
            return self._painter.blank(columns)
        left = self.scroll_offset.x
        return strip if width == columns else strip.crop(left, left + columns)

    # -- cursor ----------------------------------------------------------------------------------------------------

    def watch_cursor(self, old: int, new: int) -> None:
        """Repaint the two rows and tell."""
        self._refresh_row(old)
        self._refresh_row(new)
        self._tell()

    def _has(self, row: int) -> bool:
        return self._rows.first <= row < self._rows.next

    def _refresh_row(self, row: int) -> None:
        line = row - self.top
        if 0 <= line < self.page:
            self.refresh_line(line + self.scroll_offset.y + self._header_lines)

    def _tell(self) -> None:
        if self._has(self.cursor):
            self.post_message(self.Highlighted(self, self.cursor))

    def show_row(self, row: int) -> None:
        """Scroll as little as it takes to have the row on the screen."""
        top = min(max(self.top, row - self.page + 1), row)
        if top != self.top:
            self.scroll_to(y=top - self._origin, animate=False, force=True)

    def show_cursor(self) -> None:
        """Have the cursor's row on the screen."""
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
        """A click moves the cursor, a double click takes the row."""
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
        """For lists where this does something else than Enter."""
        self.action_select()

    def clicked(self, row: int, column: int) -> None:
        """For lists whose columns do something; `column` counts from the left edge of the line."""
