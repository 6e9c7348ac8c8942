"""Lines over the live place: the calls through which an error came, gets and puts of an object, what is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from widgets.footer import KeyFooter
from widgets.lists.line_list import LineList
from widgets.lists.text_list import StyledLine, TableLines, TableList
from widgets.safe_content import safe_content

_KEYS: Final[list[BindingType]] = [
    Binding("escape", "dismiss", "Back", id="chain.leave", tooltip="Back to the table"),
    Binding("f1,question_mark", "app.help", "Help", show=True, id="chain.help", tooltip="Explain this"),
    Binding("ctrl+q", "app.quit", "Quit", show=False, id="chain.quit", tooltip="Leave probewright"),
]


class LinesScreen(ModalScreen[None]):
    """Shows the lines that it is given; help names each kind of them by its class."""

    DEFAULT_CSS = """
    LinesScreen {
        align: center middle;
        background: $background 60%;
        & TableList { width: 96%; max-width: 130; height: 80%; border: round $primary; }
    }
    """

    def __init__(self, title: str, lines: Sequence[StyledLine]) -> None:
        super().__init__()
        self._list = TableList()
        self._list.border_title = safe_content(title)
        self._lines = TableLines(lines)

    def compose(self) -> ComposeResult:
        yield self._list
        yield KeyFooter("app.help")

    def on_mount(self) -> None:
        self._list.show(self._lines)
        self._list.focus()

    @on(LineList.Selected)
    def _selected(self, event: LineList.Selected) -> None:
        event.stop()
        self.dismiss()


class ChainScreen(LinesScreen):
    """Shows the calls through which an error came, or the gets and puts of an object."""

    BINDINGS: ClassVar[list[BindingType]] = _KEYS


class ContentsScreen(LinesScreen):
    """Shows what is recorded."""

    BINDINGS: ClassVar[list[BindingType]] = _KEYS
