"""A line to type a query into."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.widgets import Input

from widgets.safe_text import stand_ins


class SearchLine(Input):
    """An `Input` of one row without a blinking cursor; after a value that code sets, the cursor is at its end."""

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
        self.cursor_blink = False  # blinking is the one thing that would keep an idle screen busy

    def on_mount(self) -> None:
        """Put the cursor behind a value that was set before there was a screen: nothing watched it then."""
        self.cursor_position = len(self.value)

    def watch_value(self) -> None:
        """Put the cursor behind a new value; `replace`, by which keys edit, puts it elsewhere afterwards.

        Else it keeps its column of the value before, and what is typed goes into the middle.
        """
        self.cursor_position = len(self.value)

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        paste_line(self, event.text)

    def action_paste(self) -> None:
        """Take what the application copied last; of several lines one."""
        paste_line(self, self.app.clipboard)

    @property
    def _value(self) -> Text:
        """What is drawn: a condition may have the name of a task in it, which may be an escape sequence."""
        return Text(stand_ins(self.value), no_wrap=True, overflow="ignore", end="")

    def _position_to_cell(self, position: int) -> int:
        return cell_len(stand_ins(self.value)[:position])


def paste_line(line: Input, text: str) -> None:
    """Put the first line of a text that has letters where the cursor of a line is; say so where there are more."""
    lines = [one for one in text.splitlines() if one.strip()]
    if not lines:
        return
    if len(lines) > 1:
        line.notify(f"{len(lines)} lines were pasted; this is one line, and took the first", markup=False)
    line.replace(lines[0], *line.selection)


class FindLine(SearchLine):
    """Searches rows; Enter goes to the newest one that has the text, and the keys at the bottom say so."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Find", key_display="enter")]


class PickLine(SearchLine):
    """Searches a list; Enter takes the row under the list's cursor, and the keys at the bottom say so."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Pick", key_display="enter")]
