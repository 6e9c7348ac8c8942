"""Text of a specification that completes: what may stand at the cursor, in a list over the text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.geometry import Offset
from textual.widget import Widget

from probes.completion.choice import Completion, Completions
from widgets.spec.completion_list import CompletionList
from widgets.spec.spec_editor import SpecEditor
from widgets.spec.undo_history import TextState

_NOTHING_FOLLOWS = "nothing to complete here; esc leaves the text"
Complete = Callable[[str, int], Completions]
"""Text and cursor -> what may stand there."""


class CompletingPane(Vertical):
    """Editor with its completions."""

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
            "take_marked",
            "Take",
            key_display="enter",
            show=False,
            id="spec.take_marked",
            tooltip="Take the completion chosen with ↓; else Enter submits the text",
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
            tooltip="List of completions",
        ),
    ]

    DEFAULT_CSS = """
    CompletingPane { height: auto; }
    """

    def __init__(self, complete: Complete, put_right: Callable[[], bool], pane: Widget, below: Widget) -> None:
        """Take the parts that differ.

        Args:
            complete: returns the completions at a place of the text.
            put_right: puts the suggestion for a text that is refused in its place; returns False if there is none.
            pane: widget that the list stands above.
            below: widget below the text.
        """
        super().__init__()
        self._complete = complete
        self._put_right = put_right
        self._pane = pane
        self._below = below
        self.editor = SpecEditor(self.press)
        self.found_list = CompletionList()
        self._offered: TextState | None = None
        self._took = False

    def compose(self) -> ComposeResult:
        """Yield the text, the widget below it, and the completions."""
        yield self.editor
        yield self._below
        yield self.found_list

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Allow the keys that choose and take a completion only while the text has the keyboard."""
        if action == "take":
            return self.found_list.opened and bool(self.found_list.found.items)
        if action == "take_marked":
            return self.found_list.picked
        return self.editor.has_focus if action in ("choose", "offer") else True

    def offer_again(self) -> None:
        """Look up the completions at the cursor again: more is known of the kernel now."""
        if self.found_list.opened:
            self._took = self.found_list.after_taking
            self.action_offer()

    def action_offer(self) -> None:
        """Show what may stand at the cursor."""
        editor = self.editor
        took, self._took = self._took, False
        if not self.is_attached or self.screen.focused is not editor:
            return
        state = editor.state
        kept = self.found_list.chosen if self.found_list.picked and state == self._offered else None
        found = self._complete(state.text, state.cursor)
        self._offered, editor.unseen = state, False
        if not found.items and not found.note:
            self.close_list()
            return
        self.found_list.open(found, state.text[found.start : state.cursor], self._anchor(found.start), took, kept)
        self._tell()

    def _anchor(self, place: int) -> Offset:
        """Return the cell of the outer pane's upper edge that is above a place of the text."""
        editor = self.editor
        return Offset(editor.content_region.x + editor.cell_of(place).x, self._pane.region.y)

    def place_list(self) -> None:
        """Move the list above the outer pane, which may have grown by a verdict."""
        if self.found_list.opened:
            self.found_list.place(self._anchor(self.found_list.found.start))

    def action_choose(self, step: int) -> None:
        """Another completion; opens the list where it is closed."""
        if self.found_list.opened:
            self.found_list.pick(step)
            self._tell()
        elif step > 0:
            self.action_offer()

    def page(self, step: int) -> None:
        """Farther up or down in the list."""
        self.found_list.pick(step * max(1, self.found_list.window.page - 1))
        self._tell()

    def action_take(self) -> None:
        """Take the marked completion, else the first."""
        self.see()
        if self.found_list.found.items:
            self._take(self.found_list.chosen or self.found_list.found.items[0])

    action_take_marked = action_take

    def see(self) -> None:
        """Look what may stand at the cursor now; of keys that came together the list may be about the first."""
        if self.editor.unseen:
            self.action_offer()

    def press(self, key: str) -> bool:
        """Take a key for the list of completions, before the text or others get it."""
        if key in ("enter", "tab", *_LIST_KEYS):
            self.see()
        if (key == "enter" and self.found_list.picked) or (key == "tab" and self.found_list.found.items):
            self.action_take()
            return True
        if key == "tab" and self._put_right():
            return True
        if key == "tab" and self.editor.value:  # what is typed next is for the text, not for what Tab would lead to
            self._say_nothing_follows()
            return True
        act = _LIST_KEYS.get(key)
        if act is None or not self.found_list.opened:
            return False
        act(self)
        return True

    def _say_nothing_follows(self) -> None:
        state = self.editor.state
        self._offered = state
        found = Completions(state.cursor, state.cursor, note=self.found_list.found.note or _NOTHING_FOLLOWS)
        self.found_list.open(found, "", self._anchor(state.cursor), after_taking=False, kept=None)
        self._tell()

    def _take(self, item: Completion) -> None:
        text, cursor = self.found_list.found.taken(self.editor.value, item)
        self._took = True
        self.editor.put(text, cursor)

    def close_list(self) -> None:
        """Take the completions off the screen."""
        self.found_list.close()
        self._tell()

    def _tell(self) -> None:
        """Say what keys are for now."""
        self.editor.picked, self.editor.listed = self.found_list.picked, bool(self.found_list.found.items)
        self.refresh_bindings()

    @on(CompletionList.Taken)
    def _clicked(self, event: CompletionList.Taken) -> None:
        event.stop()
        self._take(event.item)

    @on(SpecEditor.Moved)
    def _moved(self) -> None:
        if self.found_list.opened and self.editor.state != self._offered:
            self.close_list()

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        """Close the list when the keyboard leaves the text."""
        if event.widget is self.editor:
            self.close_list()


_LIST_KEYS: Mapping[str, Callable[[CompletingPane], None]] = {
    "up": lambda pane: pane.action_choose(-1),
    "down": lambda pane: pane.action_choose(1),
    "pageup": lambda pane: pane.page(-1),
    "pagedown": lambda pane: pane.page(1),
    "escape": CompletingPane.close_list,
}
"""Actions of keys while the list is open."""
