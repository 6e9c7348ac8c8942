"""The line below a table that says which of its rows are shown, and takes another condition."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input, Label

from widgets.safe_text import safe_content
from widgets.search_line import SearchLine


class FilterLine(Horizontal):
    """Hidden as long as nothing stands in it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Done", show=False, id="filter.leave", tooltip="Back to the rows"),
    ]

    DEFAULT_CSS = """
    FilterLine {
        display: none; height: 1; background: $surface;
        &.-shown { display: block; }
        & .prompt { width: auto; color: $text-accent; text-style: bold; }
        & .said { width: auto; max-width: 60%; padding: 0 0 0 1; color: $text-muted; }
        & .said.-refused { color: $text-warning; }
    }
    """

    class Typed(Message):
        """Another condition is wanted; empty: everything."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """The rows have the keys again."""

    def __init__(self, hint: str, suggester: Suggester | None = None) -> None:
        super().__init__()
        self._input = SearchLine(hint)
        self._input.suggester = suggester
        self._said = Label("", classes="said", markup=False)
        self._last = ("", False)

    def compose(self) -> ComposeResult:
        """What is typed, and what comes of it."""
        yield Label("filter ", classes="prompt", markup=False)
        yield self._input
        yield self._said

    @property
    def text(self) -> str:
        """What is typed."""
        return self._input.value

    @text.setter
    def text(self, text: str) -> None:
        self._input.value = text
        self._input.cursor_position = len(text)
        self.set_class(bool(text), "-shown")

    def ask(self) -> None:
        """Have the keys."""
        self.add_class("-shown")
        self.screen.set_focus(self._input)

    def say(self, text: str, refused: bool = False) -> None:
        """What comes of what was typed; asked at each tick, painted where it is something else."""
        if (text, refused) == self._last:
            return
        self._last = text, refused
        self._said.set_class(refused, "-refused")
        self._said.update(safe_content(text))

    def action_leave(self) -> None:
        """Back to the rows; an empty line is none."""
        self.set_class(bool(self.text.strip()), "-shown")
        self.post_message(self.Left())

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Typed(event.value))
