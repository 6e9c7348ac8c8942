"""Table of the comparisons of two recordings, and the key that asks for the other recording."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.message import Message

from tui.views.compare.text import NO_CHANGES
from widgets.lists.sortable_pane import SortablePane
from widgets.lists.text_rows import TextRows, TextTable

_TITLES: Final = ("event", "what", "A", "B", "change")
_A, _B, _CHANGE = 2, 3, 4
_LOOKS: Final = {0: "name"}


class ComparisonPane(SortablePane):
    """Pane of the comparisons, its search and its order."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("O", "other_recording", "Other recording", tooltip="Choose the recording to compare this one with"),
    ]

    class OtherWanted(Message):
        """Sent to have the other recording asked for."""

    class Stale(Message):
        """Sent where the filter is no longer the one that was compared with."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        table = TextTable(TextRows(_TITLES, _LOOKS, {}, (_A, _B)))
        table.text_rows.look_of = {_CHANGE: _look_of_change}
        super().__init__(table, table.ordered, id=id)

    def action_other_recording(self) -> None:
        """Ask for the recording to compare with."""
        self.post_message(self.OtherWanted())


def _look_of_change(text: str | int) -> str:
    return "dim" if text in NO_CHANGES else "bad"
