"""Screen with all fields of one event, over the live place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from widgets.events.event_detail import EventDetail
from widgets.events.values import DetailField
from widgets.footer import KeyFooter


class DetailScreen(ModalScreen[None]):
    """Shows what it is given."""

    DEFAULT_CSS = """
    DetailScreen {
        align: center middle;
        background: $background 60%;
        & EventDetail { width: 96%; max-width: 130; height: 80%; border: round $primary; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back", id="detail.leave", tooltip="Back to the events"),
        Binding("f1,question_mark", "app.help", "Help", show=True, id="detail.help", tooltip="Explain this"),
        Binding("ctrl+q", "app.quit", "Quit", show=False, id="detail.quit", tooltip="Leave probewright"),
    ]

    def __init__(self, title: str, fields: Sequence[DetailField]) -> None:
        super().__init__()
        self._detail = EventDetail()
        self._content = (title, fields)

    def compose(self) -> ComposeResult:
        yield self._detail
        yield KeyFooter("app.help")

    def on_mount(self) -> None:
        self._detail.show(*self._content)
        self._detail.focus_fields()

    @on(EventDetail.Closed)
    def _detail_closed(self) -> None:
        self.dismiss()
