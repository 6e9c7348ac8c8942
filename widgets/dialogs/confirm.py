"""Dialog with a yes-or-no question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Static

from widgets.dialogs.dialog import Dialog
from widgets.safe_content import safe_content
from widgets.safe_text import safe


class ConfirmDialog(Dialog[bool]):
    """Dialog that returns True for yes, False for no, and None for Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes", id="confirm.yes", tooltip="Do it"),
        Binding("n", "answer(False)", "No", id="confirm.no", tooltip="Leave it"),
        Binding("left,right", "other", "Other button", show=False, id="confirm.other", tooltip="To the other button"),
    ]

    def __init__(
        self, question: str, details: Sequence[str] = (), *, yes: str = "Yes", no: str = "No", careful: bool = False
    ) -> None:
        """Set the question.

        Args:
            question: question in one line.
            details: lines that describe the consequences.
            yes: label of the first button, in a word.
            no: label of the other button.
            careful: True: Enter means no, unless the focus is moved to the other button.
        """
        super().__init__()
        self._question = question
        self._details = tuple(details)
        self._yes, self._no = Button(f"{yes} (y)", id="yes", compact=True), Button(f"{no} (n)", id="no", compact=True)
        self._careful = careful

    def compose(self) -> ComposeResult:
        """Yield the question, the details and two buttons."""
        with VerticalScroll(classes="box -trouble" if self._careful else "box", can_focus=False):
            yield Static(Content.styled(safe(self._question), "bold"))
            for line in self._details:
                yield Static(safe_content(line))
            with Horizontal(classes="buttons"):
                yield self._yes
                yield self._no

    def on_mount(self) -> None:
        """Focus the harmless answer."""
        (self._no if self._careful else self._yes).focus()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.dismiss(event.button is self._yes)

    def action_answer(self, answer: bool) -> None:
        """Answer by a letter."""
        self.dismiss(answer)

    def action_other(self) -> None:
        """Focus the other button."""
        (self._no if self._yes.has_focus else self._yes).focus()
