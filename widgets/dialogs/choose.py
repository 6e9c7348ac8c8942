"""Dialog with a question and several answers, each with its key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Static

from widgets.dialogs.dialog import Dialog
from widgets.safe_content import safe_content
from widgets.safe_text import safe


class Answer(NamedTuple):
    """Answer of the dialog."""

    name: str
    """Result of the dialog."""
    key: str
    """Key: a letter."""
    label: str
    """Label of the button, in a word or two."""


class ChoiceDialog(Dialog[str]):
    """Dialog that returns the name of an answer, or None for Escape. Enter takes the marked answer, by default the
    first.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "other(-1)", "Before", show=False, id="choose.left", tooltip="To the previous button"),
        Binding("right", "other(1)", "Next", show=False, id="choose.right", tooltip="To the next button"),
    ]

    DEFAULT_CSS = """
    ChoiceDialog .buttons Button { min-width: 4; }
    """

    def __init__(self, question: str, details: Sequence[str], answers: Sequence[Answer], marked: str = "") -> None:
        """Set the question and its answers.

        Args:
            question: question in one line.
            details: lines that describe the consequences.
            answers: answers from left to right.
            marked: name of the answer that Enter takes, which should be harmless; empty: the first.
        """
        super().__init__()
        self._question = question
        self._details = tuple(details)
        self._answers = {answer.key: answer.name for answer in answers}
        self._buttons = [Button(_label(answer), id=answer.name, compact=True) for answer in answers]
        self._marked = next((button for button in self._buttons if button.id == marked), self._buttons[0])

    def compose(self) -> ComposeResult:
        """Yield the question, the details and a button for each answer."""
        with VerticalScroll(classes="box -trouble", can_focus=False):
            yield Static(Content.styled(safe(self._question), "bold"))
            for line in self._details:
                yield Static(safe_content(line))
            with Horizontal(classes="buttons"):
                yield from self._buttons

    def on_mount(self) -> None:
        """Focus the marked button."""
        self._marked.focus()

    def on_key(self, event: events.Key) -> None:
        """Answer by a letter."""
        if event.character in self._answers:
            event.stop()
            self.dismiss(self._answers[event.character])

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.dismiss(event.button.id)

    def action_other(self, step: int) -> None:
        """Focus another button."""
        at = next((n for n, button in enumerate(self._buttons) if button.has_focus), 0)
        self._buttons[(at + step) % len(self._buttons)].focus()


def _label(answer: Answer) -> str:
    return answer.label if answer.label == answer.key else f"{answer.label} ({answer.key})"
