"""Pane with the terminal of a command: its output as on a terminal, and the keyboard for it while it runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from foreign.count_text import counted
from widgets.safe_text import cut, safe, width
from widgets.terminal.typed_bytes import bytes_of, pasted

if TYPE_CHECKING:
    from widgets.terminal.emulator import Emulator, Look

_OURS: Final = frozenset({
    *(f"f{number}" for number in range(1, 10)),
    "f12", "ctrl+q", "ctrl+right_square_bracket", "shift+pageup", "shift+pagedown",
})  # fmt: skip
"""Keys that a command never gets: those of the application that work everywhere, and those of this pane."""
_SCROLLING: Final = frozenset({"line", "page", "ends", "back"})
"""Actions whose keys the command gets while it runs."""
_COLORS: Final = {"brown": "yellow", "brightbrown": "bright_yellow"}
"""Rich's names of colours that pyte names otherwise."""
_HEX: Final = re.compile("[0-9a-f]{6}")
_NAMES: Final = frozenset(["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"])
_WHEEL: Final = 3
_LEAST_TITLE: Final = 10


class TerminalPane(Widget, can_focus=True):
    """See the module. It asks for what is to be done by messages, and is told what the command does."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+right_square_bracket", "leave", "Rows", key_display="^]", id="terminal.leave",
                tooltip="Back to the rows. A command that runs gets all keys but ctrl+], F1 to F9, F12, ctrl+q"),
        Binding("f12", "leave", "Rows", show=False, id="terminal.leave_too", tooltip="Back to the rows likewise"),
        Binding("shift+pageup", "scroll_page(-1)", "Earlier", show=False, id="terminal.earlier",
                tooltip="To earlier output, while the command runs too"),
        Binding("shift+pagedown", "scroll_page(1)", "Later", show=False, id="terminal.later",
                tooltip="To later output likewise"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="terminal.page_up", tooltip="One screenful up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="terminal.page_down",
                tooltip="One screenful down"),
        Binding("up", "line(-1)", "Up", show=False, id="terminal.up", tooltip="One line up"),
        Binding("down", "line(1)", "Down", show=False, id="terminal.down", tooltip="One line down"),
        Binding("home", "ends(-1)", "First", show=False, id="terminal.first", tooltip="To the oldest output"),
        Binding("end", "ends(1)", "Last", show=False, id="terminal.last", tooltip="To the newest output"),
        Binding("escape", "back", "Rows", show=False, id="terminal.back",
                tooltip="Back to the rows, once the command has ended"),
    ]  # fmt: skip

    DEFAULT_CSS = """
    TerminalPane {
        height: 1fr;
        width: 1fr;
        background: $surface;
        color: $text;
        border-top: solid $foreground 40%;
        border-title-color: $text-accent;
        &:focus { border-top: heavy $accent; border-title-style: bold; }
    }
    """

    ALLOW_SELECT = False
    takes_text = True
    """Letters are for the command here, and never commands of the application (`tui.app.keyboard`)."""

    class Typed(Message):
        """Bytes were typed, or answered by the terminal, for the command."""

        def __init__(self, data: bytes) -> None:
            super().__init__()
            self.data = data

    class Resized(Message):
        """The terminal has another size."""

    class Left(Message):
        """The keyboard is to go back to the rows."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.was_typed = False
        """True if a key was given to the command."""
        self._emulator: Emulator | None = None
        self._runs = False
        self._command = self._state_text = ""
        self._ways = ""
        self._above = 0
        """Lines by which the picture is scrolled up from the newest output."""

    # -- from the place ----------------------------------------------------------------------------------------------

    @property
    def terminal_size(self) -> tuple[int, int]:
        """Rows and columns."""
        return max(1, self.size.height), max(1, self.size.width)

    def begin(self, name: str, state: str, ways: str, size: tuple[int, int]) -> None:
        """Show an empty terminal for a command, which is about to run.

        Args:
            name: command line.
            state: text behind it.
            ways: text on the keys of the rows.
            size: rows and columns that the pane has, or will have as soon as it is shown.
        """
        from widgets.terminal.emulator import Emulator

        self._emulator = Emulator(*size)
        self._runs, self._above, self._command, self._ways, self.was_typed = True, 0, name, ways, False
        self.say(state)
        self.refresh_bindings()
        self.refresh()

    def feed(self, data: bytes) -> None:
        """Show more output; what was scrolled up to stays in sight."""
        if self._emulator is None:
            return
        before = self._emulator.gone
        if answers := self._emulator.feed(data):
            self.post_message(self.Typed(answers))
        if self._above:
            self._go_up_to(self._above + self._emulator.gone - before)
        self.refresh()

    def end(self, state: str) -> None:
        """Show that the command has ended, and how."""
        self._runs = False
        self.say(state)
        self.refresh_bindings()
        self.refresh()

    def say(self, state: str, ways: str | None = None) -> None:
        """Write the state of the command into the border; `ways`: other text on the keys of the rows."""
        self._state_text, self._ways = state, self._ways if ways is None else ways
        self._show_title()

    @property
    def text(self) -> str:
        """All output that is kept."""
        return self._emulator.text() if self._emulator is not None else ""

    def _show_title(self) -> None:
        """Show command, state and way back; of a long command its beginning."""
        outside = f"  {self._ways}" if self._runs else ""
        back = "  ^] to the rows" if self.has_focus else outside
        above = f"  {counted(self._above, 'line')} up" if self._above else ""
        state = safe(f"  {self._state_text}{above}{back}")
        room = max(_LEAST_TITLE, self.size.width - width(state) - 6)
        self.border_title = Content(f"{cut(safe(self._command), room)}{state}")

    # -- drawing -----------------------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Give the terminal its size, and say so."""
        rows, columns = self.terminal_size
        if self._emulator is not None and (rows, columns) != (self._emulator.rows, self._emulator.columns):
            self._emulator.resize(rows, columns)
            self.post_message(self.Resized())
        self._show_title()

    def watch_has_focus(self, has_focus: bool) -> None:
        """Show the cursor and the way back while the keyboard is here."""
        super().watch_has_focus(has_focus)
        self._show_title()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return a line of the screen."""
        base = self.visual_style.rich_style
        emulator = self._emulator
        if emulator is None:
            return Strip.blank(self.size.width, base)
        number = emulator.gone - self._above + y
        segments = [Segment(safe(run.text), base + _style(run.look)) for run in emulator.line(number) if run.text]
        strip = Strip(segments).adjust_cell_length(self.size.width, base)
        cursor = emulator.cursor
        if self._runs and self.has_focus and not self._above and cursor is not None and cursor[0] == y:
            column = cursor[1]
            parts = strip.divide([column, column + 1, self.size.width])
            marked = parts[1].apply_style(Style(reverse=True))
            strip = Strip.join([parts[0], marked, *parts[2:]])
        return strip

    # -- keys and mouse ----------------------------------------------------------------------------------------------

    def check_consume_key(self, key: str, character: str | None) -> bool:  # noqa: ARG002 - Textual's
        """Return True for a letter: no command of the application has it here."""
        return character is not None and character.isprintable()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Offer keys for scrolling once the command has ended, which gets them before."""
        return not (self._runs and action in _SCROLLING)

    def on_key(self, event: events.Key) -> None:
        """Give a key to the command; a letter is for nobody else, also when it has ended."""
        if event.key in _OURS or not (self._runs or event.is_printable):
            return
        event.stop()
        event.prevent_default()
        if self._runs and self._emulator is not None:
            self._type(bytes_of(event.key, event.character, keys_of_cursor=self._emulator.keys_of_cursor))

    def on_paste(self, event: events.Paste) -> None:
        """Give pasted text to the command."""
        event.stop()
        if self._runs and self._emulator is not None:
            self._type(pasted(event.text, marks=self._emulator.marks_paste))

    def _type(self, data: bytes) -> None:
        if data:
            self._go_up_to(0)
            self.was_typed = True
            self.post_message(self.Typed(data))

    def on_click(self, event: events.Click) -> None:
        """Take the keyboard."""
        event.stop()
        self.focus()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Show earlier output."""
        event.stop()
        self._go_up_to(self._above + _WHEEL)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Show later output."""
        event.stop()
        self._go_up_to(self._above - _WHEEL)

    def action_leave(self) -> None:
        """Give the keyboard back to the rows."""
        self.post_message(self.Left())

    def action_back(self) -> None:
        """Give the keyboard back to the rows."""
        self.post_message(self.Left())

    def action_line(self, lines: int) -> None:
        """Scroll by lines."""
        self._go_up_to(self._above - lines)

    def action_page(self, pages: int) -> None:
        """Scroll by screenfuls."""
        self.action_scroll_page(pages)

    def action_scroll_page(self, pages: int) -> None:
        """Scroll by screenfuls; also while the command runs."""
        self._go_up_to(self._above - pages * max(1, self.size.height - 1))

    def action_ends(self, end: int) -> None:
        """Scroll to the oldest or to the newest output."""
        self._go_up_to(0 if end > 0 or self._emulator is None else self._emulator.gone)

    def _go_up_to(self, above: int) -> None:
        most = self._emulator.gone if self._emulator is not None else 0
        above = min(max(0, above), most)
        if above != self._above:
            self._above = above
            self._show_title()
            self.refresh()


def _style(look: Look) -> Style:
    return Style(
        color=_color(look.foreground),
        bgcolor=_color(look.background),
        bold=look.bold or None,
        italic=look.italic or None,
        underline=look.underline or None,
        strike=look.strike or None,
        reverse=look.reverse or None,
    )


def _color(name: str) -> str | None:
    """Return a colour as Rich names it; None: that of the pane, or no colour."""
    if _HEX.fullmatch(name):
        return f"#{name}"
    name = _COLORS.get(name, name)
    plain = name.removeprefix("bright").lstrip("_")
    if plain not in _NAMES:
        return None
    return f"bright_{plain}" if name.startswith("bright") else plain
