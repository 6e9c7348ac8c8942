"""Paint pieces of text as strips of the screen, with a cache of rows already painted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.style import Style as VisualStyle
from textual.widget import Widget

from widgets.rows import Piece, Rows
from widgets.safe_text import ELLIPSIS, width

CURSOR_MARK: Final = "▌"
"""Stands before the cursor row, so that it is seen without colour too."""
HUES: Final = tuple(f"hue{number}" for number in range(6))
"""Looks that mean nothing but that what has the same is the same."""
LOOKS: Final = {
    "dim": "$foreground 70%",
    "name": "bold",
    "type": "$text-primary",
    "number": "$text-warning",
    "match": "bold underline $text-accent",
    "mark": "bold $text-success",
    "good": "$text-success",
    "bad": "bold $text-error",
    "warn": "$text-warning",
    "key": "bold $text-accent",
    "hue0": "$text-primary",
    "hue1": "$text-success",
    "hue2": "$text-accent",
    "hue3": "bold $text-secondary",
    "hue4": "bold $text-warning",
    "hue5": "",
}
"""Looks of pieces in Textual's styles; a style sheet with a rule for each would cost every widget."""
COMPONENTS: Final = ("cursor", "header")
"""Looks that differ between widgets, or with the focus; each is a component class `line-list--LOOK`."""
_KEPT: Final = 256
"""Strips kept; more than most screens have lines. Each has objects that the garbage collector walks through."""


class LinePainter:
    """Draws rows for one widget; forget() when their text changed, forget_styles() when the theme did."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._strips: dict[tuple[int, bool], Strip] = {}
        self._styles: dict[tuple[str, bool], Style] = {}
        self._columns = 0

    def forget(self, row: int | None = None) -> None:
        """Draw one row, or all of them, anew."""
        if row is None:
            self._strips.clear()
        else:
            self._strips.pop((row, False), None)
            self._strips.pop((row, True), None)

    def forget_styles(self) -> None:
        """Forget styles and painted rows: the colours of the theme have changed."""
        self._styles.clear()
        self._strips.clear()

    def row(self, rows: Rows, row: int, columns: int, cursor: bool) -> Strip:
        """Return a row with the mark of the cursor in its first column."""
        if columns != self._columns:
            self._columns = columns
            self._strips.clear()
        key = (row, cursor)
        strip = self._strips.get(key)
        if strip is None:
            if len(self._strips) >= _KEPT:
                self._strips.clear()
            gutter = Piece(CURSOR_MARK if cursor else " ")
            strip = self._strips[key] = self.line((gutter, *rows.pieces(row, columns - 1)), columns, cursor)
        return strip

    def line(self, pieces: Iterable[Piece], columns: int, cursor: bool = False, look: str = "") -> Strip:
        """Return a line of exactly `width` columns; `look` is that of pieces without one, and of the filling."""
        segments = [Segment(text, self._style(own or look, cursor)) for text, own in pieces if text]
        used = sum(width(segment.text) for segment in segments)
        return Strip(segments, used).adjust_cell_length(columns, self._style(look, cursor))

    def blank(self, columns: int) -> Strip:
        """Return an empty line."""
        return Strip.blank(columns, self._style("", False))

    def _style(self, look: str, cursor: bool) -> Style:
        style = self._styles.get((look, cursor))
        if style is None:
            widget = self._widget
            if look in COMPONENTS:
                style = widget.get_component_rich_style(f"line-list--{look}")
            else:
                style = (widget.visual_style + VisualStyle.parse(LOOKS[look] if look else "")).rich_style
            if cursor:  # its colours win; what is bold or underlined stays so
                style = style + widget.get_component_rich_style("line-list--cursor")
            self._styles[look, cursor] = style
        return style


def part_of_line(line: Strip, left: int, columns: int) -> Strip:
    """Return the columns of a line from `left` on; a word that begins before or ends behind them has an ellipsis."""
    part = line.crop(left, left + columns)
    for at, mark, before, after in ((left, left, 0, 1), (left + columns, left + columns - 1, columns - 1, columns)):
        edge = line.crop(max(0, at - 1), at + 1).text
        if len(edge) == 2 and " " not in edge:
            sign = Strip([Segment(ELLIPSIS, segment.style) for segment in line.crop(mark, mark + 1)][:1], 1)
            part = Strip.join([part.crop(0, before), sign, part.crop(after)])
    return part
