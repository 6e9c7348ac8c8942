"""Dialog for an error, its reason and its remedies."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Static

from widgets.dialogs.dialog import Dialog
from widgets.safe_content import safe_content
from widgets.safe_text import safe, safe_lines
from widgets.way_out import Way


class ErrorDialog(Dialog[Way | None]):
    """Dialog with an error, its reason and remedies, never a traceback; returns the `Way` whose key was pressed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "leave", "Close", show=False, id="trouble.close", tooltip="Close this"),
        Binding("c", "copy", "Copy way out", id="trouble.copy", tooltip="Copy the way out to the clipboard"),
    ]

    def __init__(self, what: str, why: str = "", way_out: Sequence[str | Way] | str = (), *, title: str = "") -> None:
        """Set the texts.

        Args:
            what: error in one line.
            why: reason, several lines allowed.
            way_out: remedies: commands as they are typed, and ways whose first key is a key of the dialog.
            title: title of the border.
        """
        super().__init__()
        self._what, self._why, self._title = what, why, title
        ways = (way_out,) if isinstance(way_out, str) else tuple(way_out)
        self._ways = {way.keys[0]: way for way in ways if isinstance(way, Way)}
        self._way_out = tuple(str(way) for way in ways if way)

    def compose(self) -> ComposeResult:
        """Yield error, reason, remedies and one button."""
        with VerticalScroll(classes="box -trouble", can_focus=False) as box:
            box.border_title = safe_content(self._title or "trouble")
            yield Static(Content.assemble(("✗ ", "bold $text-error"), (safe(self._what), "bold")))
            if self._why:
                yield Static(Content("\n".join(safe_lines(self._why, 40))))
            for line in self._way_out:
                yield Static(Content.assemble(("way out: ", "dim"), (safe(line), "$text-accent")))
            with Horizontal(classes="buttons"):
                yield Button("Close (esc)", compact=True)

    @property
    def own_keys(self) -> Collection[str]:
        """Keys of its remedies."""
        return self._ways

    def on_key(self, event: events.Key) -> None:
        """Take a remedy by its key."""
        if (way := self._ways.get(event.key)) is not None:
            event.stop()
            self.dismiss(way)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.dismiss(None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Allow copying only if there is a remedy."""
        return bool(self._way_out) if action == "copy" else True

    def action_copy(self) -> None:
        """Copy the remedies (by the terminal: OSC 52)."""
        self.app.copy_to_clipboard("\n".join(safe(line) for line in self._way_out))
        self.notify("copied", markup=False)
