"""The specification as it forms, edited as text, and what this kernel says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.geometry import Offset
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Input, Label

from probes.completion import NOTHING, Completion, Completions
from widgets.completion_list import CompletionList
from widgets.history import State
from widgets.search_line import SearchLine
from widgets.spec_editor import SpecEditor
from widgets.spec_tail import SpecTail
from widgets.spec_text import Specification, column_in

Complete = Callable[[str, int], Completions]
"""Text and cursor -> what may stand there."""


class SpecPane(Vertical):
    """Shows a `Specification` and edits its text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "tab",
            "take",
            "Take",
            key_display="tab",
            id="spec.take",
            tooltip="Take a completion: the marked, or the first",
        ),
        Binding(
            "enter",
            "take",
            "Take",
            key_display="enter",
            show=False,
            id="spec.take_marked",
            tooltip="Take the marked completion",
        ),
        Binding("up", "choose(-1)", "Up", show=False, id="spec.up", tooltip="Completion above"),
        Binding("down", "choose(1)", "Down", show=False, id="spec.down", tooltip="Completion below; opens the list"),
        Binding(
            "ctrl+@,ctrl+space",
            "offer",
            "Complete",
            key_display="^space",
            show=False,
            id="spec.offer",
            tooltip="What may stand here",
        ),
        Binding("ctrl+l", "lowered", "Lines", id="spec.lowered", tooltip="The lines for this kernel and for others"),
        Binding(
            "pageup",
            "page(-1)",
            "Page up",
            show=False,
            id="spec.page_up",
            tooltip="A screenful up, in the list or the lines",
        ),
        Binding("pagedown", "page(1)", "Page down", show=False, id="spec.page_down", tooltip="A screenful down"),
        Binding(
            "escape",
            "leave",
            "Back",
            key_display="esc",
            id="spec.leave",
            tooltip="Close the list; again: back to the fields",
        ),
    ]

    DEFAULT_CSS = """
    SpecPane {
        height: auto;
        background: $surface;
        & > VerticalScroll { height: auto; max-height: 100%; }
        & Horizontal { height: 1; display: none; }
        &.-filtering Horizontal { display: block; }
        & .prompt { width: 7; color: $text-accent; text-style: bold; }
    }
    """

    shown: reactive[Specification] = reactive(Specification(), repaint=False)
    """What is told of the text, the last answer to `Edited`; the filter in it is what was last agreed on."""

    class Edited(Message):
        """The user changed the text."""

        def __init__(self, control: SpecPane, text: str) -> None:
            super().__init__()
            self._control = control
            self.text = text

        @property
        def control(self) -> SpecPane:
            """The pane."""
            return self._control

    class FilterChanged(Edited):
        """The user wants another filter; empty: none."""

    class ArmRequested(Message):
        """What the text says is to be armed."""

    class LinesWanted(Message):
        """The lines for other kernels are on the screen now, and may not be known."""

    class Left(Message):
        """The text or the filter was left; the keyboard may go back where it came from."""

    def __init__(
        self,
        *,
        complete: Complete = lambda text, cursor: NOTHING,  # noqa: ARG005 - nothing is known yet
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.border_title = "specification"
        self.complete = complete
        """What may stand at a place of the text."""
        self.editor = SpecEditor(self._press)
        self._tail, self._filter = SpecTail(), SearchLine("count > 4096")
        self._list = CompletionList()
        self._lines = VerticalScroll(self.editor, self._tail, can_focus=False)
        self._offered: State | None = None
        self._took = False

    def compose(self) -> ComposeResult:
        """The text with its verdict, the lines below, the filter, the completions."""
        yield self._lines
        with Horizontal():
            yield Label("filter ", classes="prompt", markup=False)
            yield self._filter
        yield self._list

    def show(self, shown: Specification) -> None:
        """Show another text, with what is told of it."""
        self.editor.take_over(shown.text)
        self.shown = shown

    def watch_shown(self, shown: Specification) -> None:
        """Show it; what is being typed stays."""
        self.editor.shown = self._tail.shown = shown
        if not self.has_class("-filtering"):
            with self.prevent(Input.Changed):
                self._filter.value = shown.filter
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Completions are taken and chosen while the text has the keyboard."""
        if action == "take":
            return self._list.opened and bool(self._list.found.items)
        return self.editor.has_focus if action in ("choose", "offer", "page") else True

    @property
    def lowered(self) -> bool:
        """Whether the lines for the kernel are on the screen."""
        return self._tail.lowered

    def action_lowered(self) -> None:
        """Show or hide the lines for the kernel."""
        self._tail.lowered = not self._tail.lowered
        if self.lowered:
            self.post_message(self.LinesWanted())

    # -- the text --------------------------------------------------------------------------------------------------

    def action_edit(self) -> None:
        """Edit the text; where there is none yet, show how one begins."""
        self.screen.set_focus(self.editor)
        self.editor.cursor_position = len(self.editor.value)
        if not self.editor.value:
            self.action_offer()

    def offer_again(self) -> None:
        """More is known now: look again what may stand at the cursor."""
        if self._list.opened:
            self._took = self._list.after_taking
            self.action_offer()

    def action_offer(self) -> None:
        """Show what may stand at the cursor."""
        editor = self.editor
        took, self._took = self._took, False
        if self.screen.focused is not editor:
            return
        state = editor.state
        found = self.complete(state.text, state.cursor)
        self._offered, editor.unseen = state, False
        if not found.items and not found.note:
            self._close()
            return
        self._list.open(found, state.text[found.start : state.cursor], self._anchor(found.start), took)
        self._tell()

    def _anchor(self, place: int) -> Offset:
        """The cell of the pane's upper edge that is above a place of the text."""
        editor = self.editor
        return Offset(editor.content_region.x + editor.cell_of(place).x, self.region.y)

    def on_resize(self) -> None:
        """The list stays above the pane, which may have grown by a verdict."""
        if self._list.opened:
            self._list.place(self._anchor(self._list.found.start))

    def action_choose(self, step: int) -> None:
        """Another completion; opens the list where it is closed."""
        if self._list.opened:
            self._list.action_move(step)
            self._tell()
        elif step > 0:
            self.action_offer()

    def action_page(self, step: int) -> None:
        """Farther up or down."""
        if self._list.opened:
            self._list.action_page(step)
            self._tell()
        elif step < 0:
            self._lines.scroll_page_up(animate=False)
        else:
            self._lines.scroll_page_down(animate=False)

    def action_take(self) -> None:
        """Take the marked completion, else the first."""
        self._see()
        if self._list.found.items:
            self._take(self._list.chosen or self._list.found.items[0])

    def _see(self) -> None:
        """Look what may stand at the cursor now; of keys that came together the list may be about the first."""
        if self.editor.unseen:
            self.action_offer()

    def _press(self, key: str) -> bool:
        """A key for the list of completions, or for a suggestion, before it is one for the text or for others."""
        if key in ("enter", "tab", *_LIST_KEYS):
            self._see()
        if key in ("enter", "tab"):
            error = self.shown.verdict.error if self.shown.verdict else None
            if self._list.chosen is not None or (key == "tab" and self._list.found.items):
                self.action_take()
                return True
            suggested = error is not None and error.nearest and self.shown.text == self.editor.value
            if suggested and key == "enter":
                self.action_fix()
            return bool(suggested) and key == "enter"
        opened, act = self._list.opened, _LIST_KEYS.get(key)
        if act is not None and opened:
            act(self)
        return act is not None and opened

    def _take(self, item: Completion) -> None:
        text, cursor = self._list.found.taken(self.editor.value, item)
        self._took = True
        self.editor.put(text, cursor)

    def action_fix(self) -> None:
        """Put the suggested name in the place of the wrong one."""
        verdict, text = self.shown.verdict, self.editor.value
        error = verdict.error if verdict is not None else None
        if verdict is None or error is None or not error.nearest or not error.token:
            return
        at = column_in(text, verdict)
        if at is None or not text.startswith(error.token, at):
            at = text.find(error.token)
        if at >= 0:
            name = error.nearest[0]
            self.editor.put(text[:at] + name + text[at + len(error.token) :], at + len(name))

    def _close(self) -> None:
        self._list.close()
        self._tell()

    def _tell(self) -> None:
        """Say what keys are for now."""
        self.editor.marked = self._list.chosen is not None
        self.refresh_bindings()

    @on(CompletionList.Taken)
    def _clicked(self, event: CompletionList.Taken) -> None:
        event.stop()
        self._take(event.item)

    @on(SpecEditor.Moved)
    def _moved(self, event: SpecEditor.Moved) -> None:
        event.stop()
        if self._list.opened and self.editor.state != self._offered:
            self._close()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if event.input is self.editor:
            self.post_message(self.Edited(self, event.value))
            self._see()

    @on(Input.Submitted)
    def _agreed(self, event: Input.Submitted) -> None:
        event.stop()
        if event.input is self.editor:
            self._close()
            self.post_message(self.ArmRequested())
            return
        text = " ".join(event.value.split())
        if text != self.shown.filter:
            self.post_message(self.FilterChanged(self, text))
        self._leave()

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        """The list is there only while something is typed."""
        if event.widget is self.editor:
            self._close()

    # -- the filter ------------------------------------------------------------------------------------------------

    def action_filter(self) -> None:
        """Edit the filter."""
        self._filter.cursor_position = len(self._filter.value)
        self.add_class("-filtering")
        self.screen.set_focus(self._filter)

    def action_leave(self) -> None:
        """Close the list; else leave the filter as it was before, or the text as it is."""
        if self._list.opened:
            self._close()
            return
        with self.prevent(Input.Changed):
            self._filter.value = self.shown.filter
        self._leave()

    def _leave(self) -> None:
        self.remove_class("-filtering")
        self.post_message(self.Left())


_LIST_KEYS: Mapping[str, Callable[[SpecPane], None]] = {
    "up": lambda pane: pane.action_choose(-1),
    "down": lambda pane: pane.action_choose(1),
    "pageup": lambda pane: pane.action_page(-1),
    "pagedown": lambda pane: pane.action_page(1),
    "escape": SpecPane.action_leave,
}
"""What keys do while the list is open."""
