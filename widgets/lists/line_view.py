"""The part of a virtual list that draws: only the rows on the screen are ever formatted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from widgets.lists.line_paint import COMPONENTS, LinePainter
from widgets.rows import NoRows, Piece, Rows


class LineView(ScrollView):
    """Lines of `Rows`, scrolled; 1,000,000 rows cost what 40 do."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"line-list--{look}" for look in COMPONENTS}

    DEFAULT_CSS = """
    LineView {
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

    def __init__(
        self,
        rows: Rows | None = None,
        *,
        header: bool = False,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self._rows: Rows = rows or NoRows()
        self._header_lines = int(header)
        self._origin = self._rows.first
        self._painter = LinePainter(self)
        self._seen = (1, 1, 0)
        """Columns on the screen, columns of a row and first row, for the picture that is being made."""

    def on_mount(self) -> None:
        """Rows that were given at birth have an extent only now."""
        self.rows_changed()

    @property
    def rows(self) -> Rows:
        """The source; setting one starts at its first row."""
        return self._rows

    @rows.setter
    def rows(self, rows: Rows) -> None:
        self._rows = rows
        self._origin = rows.first
        self.start(rows)

    def start(self, rows: Rows) -> None:  # noqa: ARG002 - for those who keep a place in them
        """Show rows from their first one."""
        self.rows_changed()
        self.scroll_to(y=0, animate=False, force=True)

    @property
    def columns(self) -> int:
        """Columns on the screen, without the scroll bar."""
        return max(1, self.scrollable_content_region.width)

    @property
    def page(self) -> int:
        """Rows that fit on the screen."""
        return max(1, self.scrollable_content_region.height - self._header_lines)

    @property
    def on_screen(self) -> range:
        """Rows that are seen."""
        return range(max(self.top, self._rows.first), min(self.top + self.page, self._rows.next))

    @property
    def top(self) -> int:
        """Number of the first row on the screen."""
        return self._origin + self.scroll_offset.y

    def header(self, columns: int) -> Iterable[Piece]:  # noqa: ARG002 - for those who have one
        """Return the line above the rows, which does not scroll."""
        return ()

    def wanted_columns(self) -> int:
        """Columns a row needs; more than there are makes the list scroll sideways."""
        return 0

    def marked(self, row: int) -> bool:  # noqa: ARG002 - nothing is, here
        """Return whether a row has the cursor."""
        return False

    def rows_changed(self) -> None:
        """Forget all painted rows and paint again: the source has other rows, or they look different."""
        self._painter.forget()
        self.sync_extent()
        self.refresh()

    def repaint_row(self, row: int) -> None:
        """Repaint one row."""
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

    def show_row(self, row: int) -> None:
        """Scroll as little as it takes to have the row on the screen."""
        top = min(max(self.top, row - self.page + 1), row)
        if top != self.top:
            self.scroll_to(y=top - self._origin, animate=False, force=True)

    def notify_style_update(self) -> None:
        """Theme or focus changed: every style is another one."""
        super().notify_style_update()
        self._painter.forget_styles()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Ask once a picture, not at each line: Textual looks a size up from the root of the screen."""
        columns = self.columns
        self._seen = columns, max(columns, self.wanted_columns()), self.top
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Return a line of the screen."""
        columns, width, top = self._seen
        row = top + y - self._header_lines
        if y < self._header_lines:
            strip = self._painter.line(self.header(width), width, look="header")
        elif self._is_drawn(row):
            strip = self._painter.row(self._rows, row, width, self.marked(row))
        else:
            return self._painter.blank(columns)
        left = self.scroll_offset.x
        return strip if width == columns else strip.crop(left, left + columns)

    def _has(self, row: int) -> bool:
        return self._rows.first <= row < self._rows.next

    def _is_drawn(self, row: int) -> bool:
        """Return whether a row is drawn; for views that hold some rows back."""
        return self._has(row)

    def _refresh_row(self, row: int) -> None:
        line = row - self.top
        if 0 <= line < self.page:
            self.refresh_line(line + self.scroll_offset.y + self._header_lines)
