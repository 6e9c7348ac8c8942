"""Base class of dialogs: a box in the middle of the screen, its keys at the foot; Escape closes it."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from widgets.footer import KeyFooter

Result = TypeVar("Result")


class Dialog(ModalScreen[Result]):
    """Box over the screen; `.box` is its content."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", id="dialog.leave", tooltip="Close this, change nothing"),
        Binding("f1,question_mark", "app.help", "Help", id="dialog.help", tooltip="Explain this"),
        Binding("ctrl+q", "app.quit", "Quit", show=False, id="dialog.quit", tooltip="Leave probewright"),
    ]

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
        background: $background 60%;
        & .box {
            width: 76;
            max-width: 96%;
            height: auto;
            max-height: 90%;
            background: $surface;
            border: round $primary;
            padding: 0 1;
        }
        & .box.-trouble { border: round $error; }
        & .buttons { height: 1; width: 100%; margin: 1 0 0 0; align-horizontal: right; }
        & .buttons Button { margin: 0 0 0 2; }
        & Static { width: 1fr; height: auto; }
    }
    """

    def on_mount(self) -> None:
        """Cover the keys of the screen below, which do nothing now; runs in addition to a subclass's own
        `on_mount`.
        """
        self.mount(KeyFooter("app.help"))

    def action_leave(self) -> None:
        """Close without an answer."""
        self.dismiss(None)
