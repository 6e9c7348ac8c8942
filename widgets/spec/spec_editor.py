"""Editor of a specification: coloured, wrapped at the pane's width, with the verdict inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Offset, Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input
from textual.widgets.input import Selection

from foreign.count_text import counted
from probes.completion.choice import OPERATORS
from probes.corrections.slip import FILTER
from probes.translation.translate import translate
from widgets.spec.layout import LONGEST, Specification, TextLayout, head, spec_text, unfinished
from widgets.spec.undo_history import TextState, UndoHistory

_EMPTY = "what is ticked forms a probe here; : or F6 to type one"


class _MadeLayout(NamedTuple):
    shown: Specification
    columns: int
    keys: str
    layout: TextLayout


class SpecEditor(Input):
    """An `Input` with as many rows as its text and its verdict need."""

    machine: str = ""
    """Machine of the target (`uname -m`), for the translation of pasted text; empty: not known yet."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "submit",
            "Arm",
            key_display="enter",
            id="spec.submit",
            tooltip="Arm the text as written; Tab takes a suggested name",
        ),
        Binding("ctrl+z", "undo", "Undo", id="spec.undo", tooltip="Take back what was typed or ticked last"),
        Binding("ctrl+y,ctrl+shift+z", "redo", "Redo", show=False, id="spec.redo", tooltip="Do it again"),
    ]

    DEFAULT_CSS = """
    SpecEditor, SpecEditor:focus {
        width: 1fr;
        height: auto;
        border: none;
        padding: 0;
        background: $surface;
        background-tint: $surface 0%;
        text-wrap: nowrap;
    }
    """

    shown: reactive[Specification] = reactive(Specification(), layout=True)
    """Verdict and notes of a text; drawn only if it is the current text."""

    picked: reactive[bool] = reactive(False)
    """True if a key chose a completion: Enter belongs to it."""
    filtering: reactive[bool] = reactive(False, bindings=True)
    """True while the filter alone is edited: Enter keeps it, and arms nothing."""
    listed: reactive[bool] = reactive(False, layout=True)
    """True if there are completions: Tab belongs to them."""
    unseen = False
    """True if the text has changed since the last search for completions."""

    class Moved(Message):
        """Sent when the cursor moved without a change of the text."""

    class LinesPasted(Message):
        """Sent when several lines were pasted: each is a probe."""

        def __init__(self, text: str, lines: tuple[str, ...], left_out: int) -> None:
            super().__init__()
            self.text = text
            """Whole pasted text."""
            self.lines = lines
            self.left_out = left_out
            """Number of comments and empty lines left out."""

    def __init__(self, press: Callable[[str], bool]) -> None:
        """Set the function that gets each key first, and returns True if it handled the key."""
        super().__init__(select_on_focus=False)
        self._press = press
        self.cursor_blink = False
        self.history = UndoHistory()
        self._inserted = -1, ""
        """Cursor behind an inserted blank or operator, and the part of it that need not be typed too."""
        self._lines = 1
        self._made_layout: _MadeLayout | None = None
        """Layout made last: it is asked for several times for each picture."""
        """Number of lines at the last layout."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Let Enter take a chosen completion before anything else, and keep a filter rather than arm."""
        return not (self.picked or self.filtering) if action == "submit" else True

    def action_delete_left_all(self) -> None:
        """Delete what is left of the cursor; of a filter that is edited no more than itself."""
        probe, word, _ = self.value.partition(FILTER)
        start = len(probe) + len(word)
        if self.filtering and word and start <= self.cursor_position:
            self.delete(start, self.cursor_position)
        else:
            super().action_delete_left_all()

    async def _on_key(self, event: events.Key) -> None:
        # A binding runs only when the key has gone up through all parents, and later letters are in the text by then:
        # keys for the list are handled here.
        if self._press(event.key):
            event.stop()
            event.prevent_default()

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._paste(event.text)

    def action_paste(self) -> None:
        """Paste the text that the application copied last; several lines are several probes."""
        self._paste(self.app.clipboard)

    def _paste(self, text: str) -> None:
        if (translated := translate(text, self.machine)) is not None:
            every = list(translated.probes) if len(translated.probes) > 1 else [" ".join(text.split())]
            if len(every) > 1 and translated.notes_text:
                self.notify(translated.notes_text, markup=False)
        else:
            every = [line.strip() for line in text.splitlines()]
        lines = [line for line in every if line and not line.startswith("#")]
        if len(lines) > 1:
            self.post_message(self.LinesPasted(text, tuple(lines), len(every) - len(lines)))
            return
        if len(every) > len(lines):
            self.notify(left_out(len(every) - len(lines)), markup=False)
        if len(self.value) + sum(map(len, lines)) > LONGEST:
            told = f"not pasted: a specification has at most {LONGEST:,} letters; @FILE takes names from a file"
            self.notify(told, severity="warning", markup=False)
            return
        self.replace("".join(lines), *self.selection)

    # -- text ------------------------------------------------------------------------------------------------------

    def take_over(self, text: str) -> None:
        """Set a text that was not typed here; undo restores the one before."""
        text, before = spec_text(text), self.state
        if text == before.text:
            return
        with self.prevent(Input.Changed):
            self.value = text
        self.cursor_position = len(text)
        if before.text or not text:
            self.history.change(before, self.state)

    @property
    def state(self) -> TextState:
        """Text and cursor."""
        return TextState(self.value, self.cursor_position)

    def replace(self, text: str, start: int, end: int) -> None:
        """Replace a range of text; characters that a screen can't show are written as in C."""
        (place, there), self._inserted = self._inserted, (-1, "")
        if there and start == end == place:
            if there.startswith(text):
                self._inserted = place, there.removeprefix(text)
                return
            text = text.removeprefix(there)
        before = self.state
        super().replace(spec_text(text), start, end)
        if self.value != before.text:
            self.unseen = True
            self.history.change(before, self.state)

    def put(self, text: str, cursor: int) -> None:
        """Set another text as one step of undo; a blank or an operator at its end need not be typed again."""
        before = self.state
        self.value = text
        self.cursor_position = cursor
        self._inserted = cursor, next((tail for tail in OPERATORS if text[:cursor].endswith(tail)), "")
        self.unseen = True
        self.history.change(before, self.state)

    def action_undo(self) -> None:
        """Restore the state before."""
        self._go(self.history.undo(self.state))

    def action_redo(self) -> None:
        """Restore the undone state."""
        self._go(self.history.redo(self.state))

    def _go(self, state: TextState | None) -> None:
        if state is not None:
            self.value = state.text
            self.cursor_position = state.cursor

    # -- picture ---------------------------------------------------------------------------------------------------

    @property
    def _is_judged(self) -> bool:
        """True if `shown` is about the current text: it lags behind the keys, and only the text is drawn
        meanwhile.
        """
        return spec_text(self.shown.text) == self.value

    def _layout_text(self, columns: int) -> TextLayout:
        shown = self.shown if self._is_judged else Specification(self.value)
        if self.listed and unfinished(shown):
            shown = Specification(self.value)  # the list shows how the text may go on
        keys = "" if self.listed else "tab" if self.has_focus else "F6, tab"
        made = self._made_layout
        if made is None or made[:3] != (shown, columns, keys):
            layout = head(shown, max(9, columns - 1), keys)  # a column is left for the cursor after the text
            made = self._made_layout = _MadeLayout(shown, columns, keys, layout)
        return made.layout

    @property
    def content_width(self) -> int:
        """Available columns: lines are wrapped, nothing scrolls sideways."""
        return max(1, self.size.width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's
        """Return the number of lines; until there is a verdict on a typed text, no fewer than before.

        Otherwise the panes above would grow and shrink by a line at each letter.
        """
        lines = max(1, len(self._layout_text(width).lines))
        self._lines = max(lines, self._lines) if self.value and not self._is_judged else lines
        return self._lines

    def render(self) -> Content:
        """Return text, verdict, cursor, selection."""
        if not self.value:
            cursor = Content.styled(" ", self.get_visual_style("input--cursor")) if self.has_focus else Content("")
            return cursor if self.has_focus else Content.styled(_EMPTY, "dim")
        layout = self._layout_text(self.size.width)
        lines = list(layout.lines)
        if self.has_focus:
            start, end = sorted(self.selection)
            for y, part in layout.parts.items():
                first, last = max(start, part.start), min(end, part.end)
                if first < last:
                    shift = part.indent - part.start
                    style = self.get_visual_style("input--selection")
                    lines[y] = lines[y].stylize(style, first + shift, last + shift)
            x, y = layout.cell(self.cursor_position)
            lines[y] = lines[y].pad_right(max(0, x + 1 - len(lines[y].plain)))
            lines[y] = lines[y].stylize(self.get_visual_style("input--cursor"), x, x + 1)
        return Content("\n").join(lines)

    render_line = Widget.render_line

    @property
    def cursor_cell(self) -> Offset:
        """Cell of the cursor, from the content's corner."""
        return Offset(*self._layout_text(self.size.width).cell(self.cursor_position))

    def cell_of(self, index: int) -> Offset:
        """Return the cell of a place in the text, from the content's corner."""
        return Offset(*self._layout_text(self.size.width).cell(index))

    @property
    def cursor_screen_offset(self) -> Offset:
        """Position of the terminal's own cursor."""
        return self.content_region.offset + self.cursor_cell

    def _watch_selection(self, selection: Selection) -> None:  # noqa: ARG002 - Textual's
        self.app.clear_selection()
        self.app.cursor_position = self.cursor_screen_offset
        self.post_message(self.Moved())

    # -- mouse -----------------------------------------------------------------------------------------------------

    async def _on_mouse_down(self, event: events.MouseDown) -> None:
        event.prevent_default()
        place = self._layout_text(self.size.width).place(*event.get_content_offset_capture(self))
        self.selection = Selection.cursor(place)
        self._selecting = True
        self.capture_mouse()

    async def _on_mouse_move(self, event: events.MouseMove) -> None:
        event.prevent_default()
        if self._selecting:
            place = self._layout_text(self.size.width).place(*event.get_content_offset_capture(self))
            self.selection = Selection(self.selection.start, place)


def left_out(lines: int) -> str:
    """Return the note on pasted comments and empty lines; empty: there were none."""
    return f"{counted(lines, 'line')} without a probe (comments, empty ones) left out" if lines else ""
