"""Line that asks for one value."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Label

from widgets.safe_content import safe_content
from widgets.search_line import SearchLine


class _ValueLine(SearchLine):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Done", key_display="enter")]


class ValueInput(Horizontal):
    """Hidden line; `ask` shows it, and `Answered` has the typed text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", id="ask.leave", tooltip="Change nothing"),
    ]

    DEFAULT_CSS = """
    ValueInput {
        display: none;
        height: 1;
        background: $surface;
        &.-asking { display: block; }
        & Label { width: auto; padding: 0 1 0 0; color: $text-accent; text-style: bold; }
    }
    """

    class Answered(Message):
        """Sent at Enter."""

        def __init__(self, asked: str, text: str) -> None:
            super().__init__()
            self.asked = asked
            """First argument of `ask`."""
            self.text = text

    class Left(Message):
        """Sent when the line is closed."""

    def __init__(self) -> None:
        super().__init__()
        self._asked = ""
        self._label = Label("", markup=False)
        self._input = _ValueLine()

    def compose(self) -> ComposeResult:
        """Yield the question and the text line."""
        yield self._label
        yield self._input

    def ask(self, asked: str, question: str, value: str = "") -> None:
        """Show a question; `asked` is returned with the answer."""
        self._asked = asked
        self._label.update(safe_content(question))
        self._input.value = value
        self.add_class("-asking")
        self._input.focus()

    def refuse(self, why: str) -> None:
        """Show why the answer is not valid, and keep asking."""
        self._label.update(safe_content(why))

    def close(self) -> None:
        """Close the line."""
        self.remove_class("-asking")
        self.post_message(self.Left())

    def action_leave(self) -> None:
        """Close the line without an answer."""
        self.close()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Answered(self._asked, event.value.strip()))
