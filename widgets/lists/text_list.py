"""List of lines of text, each in one style, which scrolls sideways where they are wide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final, Protocol

from textual.binding import Binding, BindingType

from widgets.lists.line_list import LineList
from widgets.rows import Piece
from widgets.safe_text import fit, width

_SIDEWAYS: Final = 8
"""Columns of the screen that one press of a key scrolls."""


class StyledLine(Protocol):
    """Line of text."""

    @property
    def text(self) -> str:
        """Text, safe for a screen."""

    @property
    def look(self) -> str:
        """Style of the line: `name`, `dim` or none; see `widgets.lists.line_paint`."""


class TableLines:
    """Rows of a `LineList`."""

    first = 0

    def __init__(self, lines: Sequence[StyledLine] = ()) -> None:
        self.lines = lines
        self.columns = max((width(one.text) for one in lines), default=0)
        """Columns of the widest line."""

    @property
    def next(self) -> int:
        """Number of the next row."""
        return len(self.lines)

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return a line as a single piece."""
        return (Piece(fit(self.lines[row].text, columns), self.lines[row].look),)


class TableList(LineList):
    """List of the lines of tables."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "sideways(-1)", "Left", show=False, id="lines.left", tooltip="The beginning of the lines"),
        Binding("right", "sideways(1)", "Right", show=False, id="lines.right", tooltip="The end of the lines"),
    ]

    DEFAULT_CSS = """
    TableList { overflow-x: auto; }
    """

    def show(self, rows: TableLines) -> None:
        """Show other lines; the cursor stays at its row."""
        self.window.rows = rows
        self.rows_changed()

    def action_sideways(self, direction: int) -> None:
        """Scroll by a part of the lines."""
        self.scroll_relative(x=direction * _SIDEWAYS, animate=False)

    def wanted_columns(self) -> int:
        """Return the columns of the widest line: the list scrolls sideways."""
        return self.rows.columns if isinstance(self.rows, TableLines) else 0
