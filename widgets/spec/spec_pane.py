"""The specification as it forms, edited as text, and what this kernel says of it."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.geometry import Region
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Input, Label

from probes.completion.choice import NOTHING
from probes.syntax.text import collapsed
from widgets.search_line import SearchLine
from widgets.spec.completing_pane import Complete, CompletingPane
from widgets.spec.layout import Specification, column_in
from widgets.spec.lowered_lines import LoweredLines
from widgets.spec.spec_editor import SpecEditor


class SpecPane(Vertical):
    """Shows a `Specification` and edits its text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+l", "lowered", "Lines", id="spec.lowered", tooltip="The lines for this kernel and for others"),
        Binding(
            "pageup",
            "page(-1)",
            "Page up",
            show=False,
            id="spec.page_up",
            tooltip="One screenful up",
        ),
        Binding("pagedown", "page(1)", "Page down", show=False, id="spec.page_down", tooltip="One screenful down"),
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
    """Verdict on the text, as the last answer to `Edited`; its filter is the last one that was accepted."""

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

    class FilterChanged(Message):
        """The user wants another filter; empty: none."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class ArmRequested(Message):
        """Request to arm the specification."""

    class LinesWanted(Message):
        """The lines for other kernels are on the screen now, and may not be known."""

    class Left(Message):
        """The text or the filter was left; the keyboard may go back where it came from."""

    def __init__(
        self,
        *,
        complete: Complete = lambda text, cursor: NOTHING,  # noqa: ARG005 - nothing is known yet
    ) -> None:
        super().__init__()
        self.border_title = "specification"
        self._tail, self._filter = LoweredLines(), SearchLine("count > 4096")
        self.completion = CompletingPane(complete, self._put_right, self, self._tail)
        self.editor = self.completion.editor
        self._lines = VerticalScroll(self.completion, can_focus=False)

    def compose(self) -> ComposeResult:
        """Yield the text with its verdict, the lines below, and the filter."""
        yield self._lines
        with Horizontal():
            yield Label("filter ", classes="prompt", markup=False)
            yield self._filter

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Allow pages while the text has the keyboard."""
        return self.editor.has_focus if action == "page" else True

    def on_resize(self) -> None:
        """Keep the completions above the pane, and the cursor in sight."""
        self.completion.place_list()
        self._keep_cursor_in_sight()

    def show(self, shown: Specification) -> None:
        """Show another text, with what is told of it."""
        self.editor.take_over(shown.text)
        self.shown = shown

    def watch_shown(self, shown: Specification) -> None:
        """Show it; what is being typed stays."""
        self.editor.shown = self._tail.shown = shown
        self._keep_cursor_in_sight()  # the verdict came behind it
        if not self.has_class("-filtering"):
            with self.prevent(Input.Changed):
                self._filter.value = shown.filter
        self.refresh_bindings()

    @property
    def lowered(self) -> bool:
        """True while the lines for the kernel are visible."""
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
            self.completion.action_offer()

    def action_page(self, step: int) -> None:
        """Farther up or down, in the list or in the lines."""
        if self.completion.found_list.opened:
            self.completion.page(step)
        elif step < 0:
            self._lines.scroll_page_up(animate=False)
        else:
            self._lines.scroll_page_down(animate=False)

    def _put_right(self) -> bool:
        """Put the suggested name in the place of the wrong one, else the text that was put right."""
        verdict, text = self.shown.verdict, self.editor.value
        error = verdict.error if verdict is not None else None
        if verdict is None or error is None or self.shown.text != text:
            return False
        if error.corrected and not error.nearest:
            self.editor.put(error.corrected, len(error.corrected))
            return True
        if not error.nearest or not error.token:
            return False
        at = column_in(text, verdict)
        if at is None or not text.startswith(error.token, at):
            at = text.find(error.token)
        if at >= 0:
            name = error.nearest[0]
            self.editor.put(text[:at] + name + text[at + len(error.token) :], at + len(name))
        return at >= 0

    @on(SpecEditor.Moved)
    def _moved(self, event: SpecEditor.Moved) -> None:
        event.stop()
        self._keep_cursor_in_sight()

    def _keep_cursor_in_sight(self) -> None:
        """Scroll to the cursor where the text has more lines than the pane, once they are laid out."""
        self.call_after_refresh(self._scroll_to_cursor)

    def _scroll_to_cursor(self) -> None:
        if self.editor.has_focus:
            # With the line below: behind the last line of the text comes the verdict.
            self._lines.scroll_to_region(Region(0, self.editor.cursor_cell.y, 1, 2), animate=False)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if event.input is self.editor:
            self.post_message(self.Edited(self, event.value))
            self.completion.see()
            self._keep_cursor_in_sight()

    @on(Input.Submitted)
    def _agreed(self, event: Input.Submitted) -> None:
        event.stop()
        if event.input is self.editor:
            self.completion.close_list()
            self.post_message(self.ArmRequested())
            return
        text = collapsed(event.value)
        if text != self.shown.filter:
            self.post_message(self.FilterChanged(text))
        self._leave()

    # -- the filter ------------------------------------------------------------------------------------------------

    def action_filter(self) -> None:
        """Edit the filter."""
        self._filter.cursor_position = len(self._filter.value)
        self.add_class("-filtering")
        self.screen.set_focus(self._filter)

    def action_leave(self) -> None:
        """Close the list, or the lines; else leave the filter as it was before, or the text as it is."""
        if self.completion.found_list.opened:
            self.completion.close_list()
            return
        if self.lowered and not self.has_class("-filtering"):
            self.action_lowered()
            return
        with self.prevent(Input.Changed):
            self._filter.value = self.shown.filter
        self._leave()

    def _leave(self) -> None:
        self.remove_class("-filtering")
        self.post_message(self.Left())
