"""Dialog for a long operation: current step, progress, and a button to stop it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Button, Static

from widgets.dialogs.dialog import Dialog
from widgets.safe_content import safe_content
from widgets.safe_text import cut, safe

_EVERY: Final = 0.1
"""Seconds between two looks at the progress."""


class ProgressBar(Widget):
    """Bar like `███████░░░░░░░  48 %`; dots if the progress is unknown. Painted only when the value changes."""

    DEFAULT_CSS = """
    ProgressBar { height: 1; width: 1fr; }
    """

    fraction: reactive[float | None] = reactive(None)
    """Progress from 0 to 1; None: unknown."""

    def render(self) -> Content:
        """Return the bar."""
        columns = max(1, self.size.width - 6)
        if self.fraction is None:
            return Content.styled("·" * columns, "dim")
        fraction = min(1.0, max(0.0, self.fraction))
        full = int(columns * fraction)
        percent = f"{fraction:5.0%}"
        return Content.assemble(("█" * full, "$text-accent"), ("░" * (columns - full), "dim"), " ", percent)


class ProgressDialog(Dialog[None]):
    """Dialog that shows the progress until its owner dismisses it; Escape asks the owner to stop."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Stop", id="progress.stop", tooltip="Stop it"),
    ]

    ends_by_itself = True
    """Keys that lead elsewhere wait for its end."""

    def __init__(self, title: str, state: Callable[[], tuple[str, float | None]], stop: Callable[[], object]) -> None:
        """Set what is shown.

        Args:
            title: title of the box.
            state: returns the current step, and the progress from 0 to 1; None: unknown.
            stop: asks the owner to stop, once; it undoes what was done by then.
        """
        super().__init__()
        self._title, self._bar, self._text = title, ProgressBar(), Static()
        self._state, self._stop = state, stop
        self._last_text, self._cancelled = "", False
        self.close_when_on_top = False
        """True once there is nothing to show any more, where another screen lies over this one."""
        self._button = Button("Stop (esc)", compact=True)
        # the dialog may appear while the user types: that Enter must not stop anything
        self._button.can_focus = False

    def compose(self) -> ComposeResult:
        """Yield text, bar and button."""
        with Vertical(classes="box") as box:
            box.border_title = safe_content(self._title)
            yield self._text
            yield self._bar
            with Horizontal(classes="buttons"):
                yield self._button

    def on_mount(self) -> None:
        """Begin to look."""
        self._look()
        self.set_interval(_EVERY, self._look)

    def on_screen_resume(self) -> None:
        """Close where the operation has ended below another screen."""
        if self.close_when_on_top:
            self.dismiss()

    def _look(self) -> None:
        text, fraction = self._state()
        if text != self._last_text:
            self._last_text = text
            self._text.update(safe_content(cut(safe(text), 200)))
        self._bar.fraction = fraction

    def action_leave(self) -> None:
        """Request the stop, once."""
        if not self._cancelled:
            self._cancelled = True
            self._button.label = "stopping"
            self._button.disabled = True
            self._stop()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_leave()
