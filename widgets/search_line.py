"""Text lines for queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.widgets import Input

from widgets.safe_text import stand_ins


class SearchLine(Input):
    """An `Input` of one row without a blinking cursor; after code sets a value, the cursor is at its end."""

    DEFAULT_CSS = """
    SearchLine, SearchLine:focus {
        width: 1fr;
        height: 1;
        border: none;
        padding: 0;
        background: $surface;
    }
    """

    def __init__(
        self,
        placeholder: str = "",
        *,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(placeholder=placeholder, compact=True, select_on_focus=False, id=id, classes=classes)
        self.cursor_blink = False  # a blinking cursor would be the only thing that keeps an idle screen busy

    def on_mount(self) -> None:
        """Put the cursor after a value set before mounting, which `watch_value` did not see."""
        self.cursor_position = len(self.value)

    def watch_value(self) -> None:
        """Put the cursor after a new value; `replace`, by which keys edit, moves it elsewhere afterwards.

        Otherwise the cursor keeps its column in the old value, and typed letters go into the middle.
        """
        self.cursor_position = len(self.value)

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        paste_line(self, event.text)

    def action_paste(self) -> None:
        """Paste the text that the application copied last; only one of several lines."""
        paste_line(self, self.app.clipboard)

    @property
    def _value(self) -> Text:
        """Text to draw, escaped: a condition may contain the name of a task, which may be an escape sequence."""
        return Text(stand_ins(self.value), no_wrap=True, overflow="ignore", end="")

    def _position_to_cell(self, position: int) -> int:
        return cell_len(stand_ins(self.value)[:position])


def paste_line(line: Input, text: str) -> None:
    """Insert the first non-blank line of a text at the cursor; show a notification if there are more."""
    lines = [one for one in text.splitlines() if one.strip()]
    if not lines:
        return
    if len(lines) > 1:
        line.notify(f"{len(lines)} lines were pasted; this is one line, and took the first", markup=False)
    line.replace(lines[0], *line.selection)


class FindLine(SearchLine):
    """Line that searches rows; Enter goes to the newest match, as the footer shows."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Find", key_display="enter")]


class FileLine(SearchLine):
    """Line with the name of a file; Enter writes it, as the footer shows."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Write", key_display="enter")]


class NameLine(SearchLine):
    """Line that searches names; a blank is text, or a key of the list's where a row was chosen.

    Enter takes the row under the list's cursor, or the marked names where there are some, as the footer shows.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Pick", key_display="enter"),
        Binding("enter", "submit_marked", "Take marked", key_display="enter"),
    ]

    def __init__(self, placeholder: str, row_chosen: Callable[[], bool], has_marks: Callable[[], bool]) -> None:
        """Take the text for an empty line, and the functions that tell whether a row was chosen, and whether some are
        marked.
        """
        super().__init__(placeholder)
        self._row_chosen = row_chosen
        self._has_marks = has_marks

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Let Enter be one of two: for the row, or for the marks."""
        return action not in ("submit", "submit_marked") or (action == "submit_marked") == self._has_marks()

    async def action_submit_marked(self) -> None:
        """Submit the line: the list takes what is marked."""
        await self.action_submit()

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Leave the blank to the list where a row was chosen."""
        return not self._leaves(key) and super().check_consume_key(key, character)

    async def _on_key(self, event: events.Key) -> None:
        if self._leaves(event.key):
            event.prevent_default()  # each base class has a handler of its own

    def _leaves(self, key: str) -> bool:
        return key == "space" and self._row_chosen()
