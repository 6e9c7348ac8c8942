"""Something that takes a while: what it does now, how far it is, and how to stop it."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Button, Static

from widgets.dialogs.dialog import Dialog
from widgets.safe_text import cut, safe, safe_content


class ProgressBar(Widget):
    """`███████░░░░░░░  48 %`; dots where nobody knows how far it is. Painted when told something new."""

    DEFAULT_CSS = """
    ProgressBar { height: 1; width: 1fr; }
    """

    fraction: reactive[float | None] = reactive(None)
    """0 to 1; None: not known."""

    def render(self) -> Content:
        """The bar."""
        columns = max(1, self.size.width - 6)
        if self.fraction is None:
            return Content.styled("·" * columns, "dim")
        fraction = min(1.0, max(0.0, self.fraction))
        full = int(columns * fraction)
        percent = f"{fraction:5.0%}"
        return Content.assemble(("█" * full, "$text-accent"), ("░" * (columns - full), "dim"), " ", percent)


class ProgressDialog(Dialog[None]):
    """Shows reports until its owner dismisses it; Escape asks the owner to stop."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Stop", id="progress.stop", tooltip="Stop it"),
    ]

    class CancelRequested(Message):
        """The user wants it stopped; what was done by then is for its owner to undo."""

    def __init__(self, title: str, *, text: str = "") -> None:
        super().__init__()
        self._title, self._bar, self._text = title, ProgressBar(), Static(safe_content(text))
        self._said, self._cancelled = text, False
        self._button = Button("Stop (esc)", compact=True)
        self._button.can_focus = False  # it may come while one types: the Enter of that must not stop anything

    def compose(self) -> ComposeResult:
        """Text, bar, button."""
        with Vertical(classes="box") as box:
            box.border_title = safe_content(self._title)
            yield self._text
            yield self._bar
            with Horizontal(classes="buttons"):
                yield self._button

    def report(self, text: str, fraction: float | None = None) -> None:
        """Say what is done now; from 0 to 1 how far it is, where that is known."""
        if text != self._said:
            self._said = text
            self._text.update(safe_content(cut(safe(text), 200)))
        self._bar.fraction = fraction

    def action_leave(self) -> None:
        """Ask once."""
        if not self._cancelled:
            self._cancelled = True
            self._button.label = "stopping"
            self._button.disabled = True
            self.post_message(self.CancelRequested())

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_leave()
