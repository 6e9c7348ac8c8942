"""Dialog for the triggers of an armed probe: a list, and a line for a new one with the kernel's verdict while
typing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static
from textual.widgets.input import Selection
from textual.widgets.option_list import Option

from widgets.dialogs.dialog import Dialog
from widgets.lists.option_rows import OptionRows
from widgets.safe_text import safe
from widgets.search_line import SearchLine

_ANY = "stacktrace"
"""Trigger that every event takes which takes some."""


class TriggerVerdict(NamedTuple):
    """Verdict of the kernel on a text."""

    ok: bool
    message: str = ""
    column: int | None = None
    """Column of the caret in the text, from 0."""
    hint: str = ""


class TriggerRow(NamedTuple):
    """Existing trigger."""

    event: str
    text: str


class _TriggerLine(SearchLine):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Add", key_display="enter")]


class TriggerDialog(Dialog[None]):
    """Dialog that requests adding and removing by message; stays open until Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("delete", "remove", "Remove", id="trigger.remove", tooltip="Remove the trigger under the cursor"),
        Binding("down", "list", "List", show=False, id="trigger.list", tooltip="To the existing triggers"),
    ]

    DEFAULT_CSS = """
    TriggerDialog {
        & OptionList { height: auto; max-height: 8; border: none; }
        & SearchLine { width: 1fr; }
    }
    """

    class Added(Message):
        """Request to add a trigger."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Removed(Message):
        """Request to remove a trigger."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number
            """Number among the shown rows."""

    def __init__(
        self,
        title: str,
        rows: Sequence[TriggerRow],
        judge: Callable[[str], TriggerVerdict],
        offered: str = "",
        examples: Sequence[str] = ("stacktrace",),
    ) -> None:
        """Set the triggers.

        Args:
            title: heading of the dialog.
            rows: existing triggers.
            judge: returns the verdict on a text; called at each key, and must not wait.
            offered: suggested text in the line.
            examples: triggers that the kernel takes; empty: it takes none, and the dialog shows why.
        """
        super().__init__()
        self._heading = title
        self._rows = tuple(rows)
        self._judge = judge
        self._takes_none = not examples
        self._input = _TriggerLine("   ".join(examples))
        self._offered = offered
        self._verdict_line = Static("", markup=False)
        self._list = OptionRows()

    def compose(self) -> ComposeResult:
        """Yield the line, its verdict and the existing triggers."""
        with Vertical(classes="box"):
            yield Static(Content.styled(safe(self._heading), "bold"))
            yield self._input
            yield self._verdict_line
            yield self._list

    def on_mount(self) -> None:
        """Focus the line."""
        self.show(self._rows)
        self._input.focus()
        self._input.value = self._offered
        self._input.selection = Selection(0, len(self._offered))  # typing replaces the suggestion
        self._judge_text("")

    def show(self, rows: Sequence[TriggerRow]) -> None:
        """Show other triggers."""
        self._rows = tuple(rows)
        self._list.clear_options()
        self._list.add_options(Option(f"{safe(row.event)}  {safe(row.text)}") for row in rows)
        self._list.display = bool(rows)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._judge_text(event.value)

    def _judge_text(self, value: str) -> None:
        """Show the verdict on a text; on an empty one only where no trigger is taken."""
        if text := value.strip():
            self._verdict_line.update(verdict_lines(value, self._judge(text)))
        elif self._takes_none:
            self._verdict_line.update(verdict_lines("", self._judge(_ANY)._replace(column=None)))
        else:
            self._verdict_line.update("")

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        text = event.value.strip()
        if text and self._judge(text).ok:
            self._input.value = ""
            self.post_message(self.Added(text))

    def action_list(self) -> None:
        """Focus the existing triggers."""
        if self._rows:
            self._list.focus()
            self._list.highlighted = self._list.highlighted or 0

    def action_remove(self) -> None:
        """Request to remove the current trigger."""
        if self._list.has_focus and self._list.highlighted is not None:
            self.post_message(self.Removed(self._list.highlighted))


def verdict_lines(text: str, verdict: TriggerVerdict) -> Content:
    """Return a caret under the error, the kernel's message and a hint."""
    if verdict.ok:
        return Content.styled("✓ this kernel takes it: Enter", "$text-success")
    lines: list[Content] = []
    if verdict.column is not None:
        blank = len(text) - len(text.lstrip())
        lines.append(Content.styled(" " * (verdict.column + blank) + "^", "bold $text-error"))
    lines.append(Content.styled(safe(verdict.message), "$text-error"))
    if verdict.hint:
        lines.append(Content.styled(safe(verdict.hint), "dim"))
    return Content("\n").join(lines)
