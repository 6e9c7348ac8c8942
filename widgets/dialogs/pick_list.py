"""Dialog to choose one row of a list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from widgets.dialogs.dialog import Dialog
from widgets.lists.line_list import LineList
from widgets.rows import Piece
from widgets.safe_text import cut, safe


class _Texts:
    """Rows of plain text."""

    first = 0

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = tuple(texts)
        self.next = len(self._texts)

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return the text of a row."""
        yield Piece(cut(safe(self._texts[row]), columns), "name")


class PickRows(LineList):
    """List of the answers."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Choose", key_display="enter")]


class PickList(Dialog[int]):
    """Dialog that returns the number of the chosen row, or None for Escape. Letters do nothing."""

    DEFAULT_CSS = """
    PickList {
        & LineList { height: auto; max-height: 16; min-height: 2; margin: 1 0 0 0; }
    }
    """

    ROWS: ClassVar[type[LineList]] = PickRows
    """Class of the list: its Enter binding is shown at the foot of the screen."""

    def __init__(self, question: str, rows: Sequence[str]) -> None:
        """Set the question and its answers."""
        super().__init__()
        self._question = question
        self._list = self.ROWS(_Texts(rows))

    def compose(self) -> ComposeResult:
        """Yield question and list."""
        with Vertical(classes="box") as box:
            box.border_title = "choose"
            yield Static(Content.styled(safe(self._question), "bold"))
            yield self._list

    def on_mount(self) -> None:
        """Focus the list."""
        self.set_focus(self._list)

    @on(LineList.Selected)
    def _taken(self, event: LineList.Selected) -> None:
        event.stop()
        self.dismiss(event.row)
