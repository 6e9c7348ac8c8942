"""The specification as it forms, and what this kernel says of it."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input, Label

from widgets.search_line import SearchLine
from widgets.spec_text import Specification, content


class SpecText(Widget):
    """The lines; as high as they are."""

    DEFAULT_CSS = """
    SpecText { height: auto; width: 1fr; }
    """

    shown: reactive[Specification] = reactive(Specification(), layout=True)
    """What is shown."""
    lowered: reactive[bool] = reactive(False, layout=True)
    """Whether the lines for the kernel are shown too."""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's
        """As many lines as it takes."""
        return content(self.shown, width, self.lowered).plain.count("\n") + 1

    def render(self) -> Content:
        """The lines."""
        return content(self.shown, self.size.width, self.lowered)


class SpecPane(Vertical, can_focus=True):
    """Shows a `Specification`; edits nothing but the filter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "f", "filter", "Filter", id="spec.filter", tooltip="Record only where an expression on the fields holds"
        ),
        Binding("l", "lowered", "Lowered lines", id="spec.lowered", tooltip="Show the lines written to the kernel"),
        Binding(
            "enter",
            "fix",
            "Take suggestion",
            key_display="enter",
            id="spec.fix",
            tooltip="Put the suggested name in the place of the wrong one",
        ),
        Binding("escape", "leave", "Back", show=False, id="spec.leave", tooltip="Leave the filter as it was"),
    ]

    DEFAULT_CSS = """
    SpecPane {
        height: auto;
        background: $surface;
        & > VerticalScroll { height: auto; max-height: 10; }
        & Horizontal { height: 1; display: none; }
        &.-filtered Horizontal, &.-filtering Horizontal { display: block; }
        & .prompt { width: 7; color: $text-accent; text-style: bold; }
    }
    """

    shown: reactive[Specification] = reactive(Specification(), repaint=False)
    """What is shown; the filter in it is what was last agreed on."""

    class FilterChanged(Message):
        """The user wants another filter; empty: none."""

        def __init__(self, control: SpecPane, text: str) -> None:
            super().__init__()
            self._control = control
            self.text = text

        @property
        def control(self) -> SpecPane:
            """The pane."""
            return self._control

    class FixRequested(Message):
        """The user takes the first of the nearest names in the place of the wrong token."""

        def __init__(self, token: str, name: str) -> None:
            super().__init__()
            self.token = token
            self.name = name

    class Left(Message):
        """The filter was left; the keyboard may go back where it came from."""

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.border_title = "specification"
        self._text, self._filter = SpecText(), SearchLine("count > 4096")

    def compose(self) -> ComposeResult:
        """The lines and the filter."""
        yield self._text
        with Horizontal():
            yield Label("filter ", classes="prompt", markup=False)
            yield self._filter

    def watch_shown(self, shown: Specification) -> None:
        """Show it; a filter that is being typed stays."""
        self._text.shown = shown
        self.set_class(bool(shown.filter), "-filtered")
        if not self.has_class("-filtering"):
            with self.prevent(Input.Changed):
                self._filter.value = shown.filter
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """A suggestion can be taken where there is one."""
        error = self.shown.verdict.error if self.shown.verdict else None
        if action == "fix":
            return bool(error and error.nearest)
        return self.has_class("-filtering") if action == "leave" else True

    def action_lowered(self) -> None:
        """Show or hide the lines for the kernel."""
        self._text.lowered = not self._text.lowered

    def action_filter(self) -> None:
        """Edit the filter."""
        self.add_class("-filtering")
        self.screen.set_focus(self._filter)

    def action_leave(self) -> None:
        """Leave the filter as it was before."""
        self._leave(self.shown.filter)

    def action_fix(self) -> None:
        """Ask for the suggestion."""
        error = self.shown.verdict.error if self.shown.verdict else None
        if error is not None and error.nearest:
            self.post_message(self.FixRequested(error.token, error.nearest[0]))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        text = " ".join(event.value.split())
        if text != self.shown.filter:
            self.post_message(self.FilterChanged(self, text))
        self._leave(text)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()

    def _leave(self, text: str) -> None:
        self.remove_class("-filtering")
        self.set_class(bool(text), "-filtered")
        with self.prevent(Input.Changed):
            self._filter.value = text
        self.screen.set_focus(self)
        self.post_message(self.Left())

    def on_click(self, event: events.Click) -> None:
        """A click on the caret line takes the suggestion; on the filter, edits it."""
        error = self.shown.verdict.error if self.shown.verdict else None
        if error is not None and error.nearest and event.chain == 2:
            self.action_fix()
