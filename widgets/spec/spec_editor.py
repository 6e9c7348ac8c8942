"""The specification as a text that is edited: coloured, broken where the pane ends, the verdict in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Offset, Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input
from textual.widgets.input import Selection

from probes.translation.translate import translate
from widgets.safe_text import safe
from widgets.spec.layout import Specification, TextLayout, head, unfinished
from widgets.spec.undo_history import TextState, UndoHistory

_EMPTY = "what is ticked forms a probe here; : or F6 to type one"


class SpecEditor(Input):
    """An `Input` of as many rows as its text and the verdict on it take."""

    machine: str = ""
    """`uname -m` of the target, for what is translated where it is pasted; empty: not known yet."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "submit",
            "Arm",
            key_display="enter",
            id="spec.submit",
            tooltip="Arm exactly what is written; where a name is suggested, Tab takes it",
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
    """The verdict and all that is told of a text; drawn where it is about the one that stands here."""

    picked: reactive[bool] = reactive(False)
    """A completion was chosen by a key, and Enter is for that."""
    listed: reactive[bool] = reactive(False, layout=True)
    """There are completions, and Tab is for those."""
    unseen = False
    """The text was changed, and no completions were looked for since."""

    class Moved(Message):
        """The cursor went to another place without a change of the text."""

    class LinesPasted(Message):
        """Several lines were pasted: each is a probe."""

        def __init__(self, text: str, lines: tuple[str, ...], left_out: int) -> None:
            super().__init__()
            self.text = text
            """All that was pasted."""
            self.lines = lines
            self.left_out = left_out
            """Comments and empty lines among them."""

    def __init__(self, press: Callable[[str], bool]) -> None:
        """`press` is told each key first, and says whether that was all there is to it."""
        super().__init__(select_on_focus=False)
        self._press = press
        self.cursor_blink = False
        self.history = UndoHistory()
        self._given = -1
        """Where a blank was put that need not be typed too."""
        self._lines = 1
        """Lines that it took last."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Enter takes a completion that was chosen, before all else."""
        return not self.picked if action == "submit" else True

    async def _on_key(self, event: events.Key) -> None:
        # A binding runs only when the key has gone up through all parents, and letters behind it are in the text by
        # then: what the list needs is done here.
        if self._press(event.key):
            event.stop()
            event.prevent_default()

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._paste(event.text)

    def action_paste(self) -> None:
        """Take what the application copied last; several lines are several probes."""
        self._paste(self.app.clipboard)

    def _paste(self, text: str) -> None:
        if (meant := translate(text, self.machine)) is not None:
            every = list(meant.probes) if len(meant.probes) > 1 else [" ".join(text.split())]
            if len(every) > 1 and meant.told:
                self.notify(meant.told, markup=False)
        else:
            every = [line.strip() for line in text.splitlines()]
        lines = [line for line in every if line and not line.startswith("#")]
        if len(lines) > 1:
            self.post_message(self.LinesPasted(text, tuple(lines), len(every) - len(lines)))
            return
        if len(every) > len(lines):
            self.notify(left_out(len(every) - len(lines)), markup=False)
        self.replace("".join(lines), *self.selection)

    # -- text ------------------------------------------------------------------------------------------------------

    def take_over(self, text: str) -> None:
        """Have a text that was not typed here; undo brings back the one before."""
        text, before = safe(text), self.state
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
        """Put a text in the place of another one; what a screen can't show is written as C would."""
        given, self._given = self._given, -1
        if text == " " and start == end == given:
            return
        before = self.state
        super().replace(safe(text), start, end)
        if self.value != before.text:
            self.unseen = True
            self.history.change(before, self.state)

    def put(self, text: str, cursor: int) -> None:
        """Put another text, as one step of undo; a blank it ends in need not be typed again."""
        before = self.state
        self.value = text
        self.cursor_position = cursor
        self._given = cursor if text[:cursor].endswith(" ") else -1
        self.unseen = True
        self.history.change(before, self.state)

    def action_undo(self) -> None:
        """Back to the state before."""
        self._go(self.history.undo(self.state))

    def action_redo(self) -> None:
        """Forth again."""
        self._go(self.history.redo(self.state))

    def _go(self, state: TextState | None) -> None:
        if state is not None:
            self.value = state.text
            self.cursor_position = state.cursor

    # -- picture ---------------------------------------------------------------------------------------------------

    @property
    def _is_judged(self) -> bool:
        """Whether `shown` is about the text: it follows a moment behind the keys, the text alone is drawn then."""
        return safe(self.shown.text) == self.value

    def _laid(self, columns: int) -> TextLayout:
        shown = self.shown if self._is_judged else Specification(self.value)
        if self.listed and unfinished(shown):
            shown = Specification(self.value)  # the list says how it goes on
        keys = "" if self.listed else "tab" if self.has_focus else "F6, tab"
        return head(shown, max(9, columns - 1), keys)  # a column is left for the cursor behind the text

    @property
    def content_width(self) -> int:
        """Lines are broken: nothing scrolls sideways."""
        return max(1, self.size.width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's
        """As many lines as it takes; until there is a verdict on what was typed, no fewer than before.

        Else the panes above would grow and shrink by a line at each letter.
        """
        lines = max(1, len(self._laid(width).lines))
        self._lines = max(lines, self._lines) if self.value and not self._is_judged else lines
        return self._lines

    def render(self) -> Content:
        """Text, verdict, cursor, selection."""
        if not self.value:
            cursor = Content.styled(" ", self.get_visual_style("input--cursor")) if self.has_focus else Content("")
            return cursor if self.has_focus else Content.styled(_EMPTY, "dim")
        laid = self._laid(self.size.width)
        lines = list(laid.lines)
        if self.has_focus:
            start, end = sorted(self.selection)
            for y, part in laid.parts.items():
                first, last = max(start, part.start), min(end, part.end)
                if first < last:
                    shift = part.indent - part.start
                    style = self.get_visual_style("input--selection")
                    lines[y] = lines[y].stylize(style, first + shift, last + shift)
            x, y = laid.cell(self.cursor_position)
            lines[y] = lines[y].pad_right(max(0, x + 1 - len(lines[y].plain)))
            lines[y] = lines[y].stylize(self.get_visual_style("input--cursor"), x, x + 1)
        return Content("\n").join(lines)

    render_line = Widget.render_line

    @property
    def cursor_cell(self) -> Offset:
        """Where the cursor is, from the content's corner."""
        return Offset(*self._laid(self.size.width).cell(self.cursor_position))

    def cell_of(self, index: int) -> Offset:
        """Where a place of the text is, from the content's corner."""
        return Offset(*self._laid(self.size.width).cell(index))

    @property
    def cursor_screen_offset(self) -> Offset:
        """Where the terminal's own cursor belongs."""
        return self.content_region.offset + self.cursor_cell

    def _watch_selection(self, selection: Selection) -> None:  # noqa: ARG002 - Textual's
        self.app.clear_selection()
        self.app.cursor_position = self.cursor_screen_offset
        self.post_message(self.Moved())

    # -- mouse -----------------------------------------------------------------------------------------------------

    async def _on_mouse_down(self, event: events.MouseDown) -> None:
        event.prevent_default()
        place = self._laid(self.size.width).place(*event.get_content_offset_capture(self))
        self.selection = Selection.cursor(place)
        self._selecting = True
        self.capture_mouse()

    async def _on_mouse_move(self, event: events.MouseMove) -> None:
        event.prevent_default()
        if self._selecting:
            place = self._laid(self.size.width).place(*event.get_content_offset_capture(self))
            self.selection = Selection(self.selection.start, place)


def left_out(lines: int) -> str:
    """Return what is said of comments and empty lines that were pasted; empty: there were none."""
    return (
        f"{lines} {'line' if lines == 1 else 'lines'} without a probe (comments, empty ones) left out"
        if lines
        else ""
    )
