"""Table of the comparisons of two recordings, and the key that asks for the other recording."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.message import Message

from widgets.lists.text_rows import TextRows, TextTablePane

_TITLES: Final = ("event", "what", "A", "B", "change")
_LOOKS: Final = {0: "name", 4: "bad"}


class ComparisonPane(TextTablePane):
    """Pane of the comparisons, its search and its order."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("O", "other_recording", "Other recording", tooltip="Choose the recording to compare this one with"),
    ]

    class OtherWanted(Message):
        """Sent to have the other recording asked for."""

    class Stale(Message):
        """Sent where the filter is no longer the one that was compared with."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(TextRows(_TITLES, _LOOKS, {}), id=id)

    def action_other_recording(self) -> None:
        """Ask for the recording to compare with."""
        self.post_message(self.OtherWanted())
