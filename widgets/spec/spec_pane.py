"""The specification as it forms, edited as text, and what this kernel says of it."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.geometry import Region
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Input

from probes.completion.choice import NOTHING
from probes.corrections.slip import FILTER
from probes.syntax.text import collapsed
from widgets.spec.completing_pane import Complete, CompletingPane
from widgets.spec.layout import Specification, column_in
from widgets.spec.lowered_lines import LoweredLines
from widgets.spec.spec_editor import SpecEditor

_TITLE = "specification"


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
            "enter",
            "keep_filter",
            "Keep filter",
            key_display="enter",
            id="spec.keep_filter",
            tooltip="Keep the filter as written, and go back to the fields",
        ),
        Binding(
            "escape",
            "leave",
            "Back",
            key_display="esc",
            id="spec.leave",
            tooltip="Close the list; again: back to the fields, a filter as it was",
        ),
    ]

    DEFAULT_CSS = """
    SpecPane {
        height: auto;
        background: $surface;
        & > VerticalScroll { height: auto; max-height: 100%; }
    }
    """

    shown: reactive[Specification] = reactive(Specification(), repaint=False)
    """Verdict on the text, as the last answer to `Edited`."""

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
        self.border_title = _TITLE
        self._tail = LoweredLines()
        self._before_filter: str | None = None
        """Text before its filter was edited; None: the whole text is edited, or nothing."""
        self.completion = CompletingPane(complete, self._put_right, self, self._tail)
        self.editor = self.completion.editor
        self._lines = VerticalScroll(self.completion, can_focus=False)

    def compose(self) -> ComposeResult:
        """Yield the text with its verdict, and the lines below."""
        yield self._lines

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Allow pages while the text has the keyboard, and keeping a filter that is edited."""
        if action == "keep_filter":
            return self._before_filter is not None
        return self.editor.has_focus if action == "page" else True

    def on_resize(self) -> None:
        """Keep the completions above the pane, and the cursor in sight."""
        self.call_after_refresh(self.completion.place_list)  # once the pane is where it is to be
        self._keep_cursor_in_sight()

    def show(self, shown: Specification) -> None:
        """Show another text, with what is told of it."""
        self.editor.take_over(shown.text)
        self.shown = shown

    def watch_shown(self, shown: Specification) -> None:
        """Show it; what is being typed stays."""
        self.editor.shown = self._tail.shown = shown
        self._keep_cursor_in_sight()  # the verdict came behind it
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
        self._edit_whole()
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
        self.post_message(self.Edited(self, event.value))
        self.completion.see()
        self._keep_cursor_in_sight()

    @on(Input.Submitted)
    def _agreed(self, event: Input.Submitted) -> None:
        event.stop()
        self.completion.close_list()
        self.post_message(self.ArmRequested())

    # -- the filter ------------------------------------------------------------------------------------------------

    def action_filter(self) -> None:
        """Edit the filter in the text, with the completions and the verdict that the text has."""
        text = self.editor.value
        self._before_filter, self.editor.filtering, self.border_title = text, True, f"{_TITLE}: its filter"
        self.screen.set_focus(self.editor)
        if FILTER in text:
            self.editor.cursor_position = len(text)
        else:
            started = f"{text.rstrip()}{FILTER}"
            self.editor.put(started, len(started))

    def action_keep_filter(self) -> None:
        """Keep the filter as written, and leave it."""
        self.completion.close_list()
        self._keep_filter()
        self.post_message(self.Left())

    def _keep_filter(self) -> None:
        """End editing the filter; an empty one leaves no `if`."""
        text = collapsed(self.editor.value).removesuffix(FILTER.rstrip())
        self._edit_whole()
        if text != self.editor.value:
            self.editor.put(text, len(text))

    def _edit_whole(self) -> None:
        self._before_filter, self.editor.filtering, self.border_title = None, False, _TITLE

    def on_descendant_blur(self) -> None:
        """Keep the filter where another widget gets the keyboard; not where the terminal is merely left."""
        if self._before_filter is not None and self.screen.focused not in (None, self.editor):
            self._keep_filter()

    def action_leave(self) -> None:
        """Close the list, or the lines; else leave the text as it is, or with the filter as it was before."""
        before = self._before_filter
        if self.completion.found_list.opened:
            self.completion.close_list()
            return
        if before is None and self.lowered:
            self.action_lowered()
            return
        self._edit_whole()
        if before is not None and before != self.editor.value:
            self.editor.put(before, len(before))
        self.post_message(self.Left())
