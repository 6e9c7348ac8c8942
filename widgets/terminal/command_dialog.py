"""Dialog for a command line to run, with the lines of before, and the choice of the tasks that are recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from widgets.dialogs.dialog import Dialog
from widgets.safe_text import safe
from widgets.search_line import SearchLine

_OWN = "Recorded: the command and what it starts. ^t: all tasks"
_ALL = "Recorded: all tasks, as before. ^t: only the command and what it starts"


class CommandWanted(NamedTuple):
    """Command that a person wants to run."""

    line: str
    limits_tasks: bool
    """True: armed probes record the command and what it starts alone, until it has ended."""


class _CommandInput(SearchLine):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Run", key_display="enter")]


class CommandDialog(Dialog[CommandWanted | None]):
    """Dialog that returns the command; None: none."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "done", "Run", show=False, id="command.run", tooltip="Run the command"),
        Binding("ctrl+t", "tasks", "Tasks", key_display="^t", id="command.tasks",
                tooltip="Record only the command and what it starts, or all tasks"),
        Binding("up", "older(1)", "Before", id="command.older", tooltip="The command before"),
        Binding("down", "older(-1)", "Next", show=False, id="command.newer", tooltip="The command after it"),
    ]  # fmt: skip

    DEFAULT_CSS = """
    CommandDialog { & .hint { color: $text-muted; } & .hint.-wrong { color: $text-error; } }
    """

    def __init__(
        self,
        machine: str,
        judge: Callable[[str], tuple[bool, str]],
        history: Sequence[str] = (),
        *,
        limits_tasks: bool = True,
    ) -> None:
        """Set what is known.

        Args:
            machine: name of the target on which it runs.
            judge: returns whether a line can be run, and what is to be said of it.
            history: lines that were run, the newest last.
            limits_tasks: the choice at first.
        """
        super().__init__()
        self._machine = machine
        self._judge = judge
        self._history = tuple(history)
        self._at = 0
        """Number of the line that is shown, from the newest, 1; 0: what was typed."""
        self._typed = ""
        self._limits_tasks = limits_tasks
        self._input = _CommandInput("cat /etc/hostname")
        self._hint = Static("", markup=False, classes="hint")
        self._tasks = Static("", markup=False, classes="hint")

    def compose(self) -> ComposeResult:
        """Yield the line, and what is said of it."""
        with Vertical(classes="box"):
            yield Static(Content.styled(safe(f"Run a command on {self._machine}"), "bold"))
            yield self._input
            yield self._hint
            yield self._tasks

    def on_mount(self) -> None:
        """Focus the line."""
        self._input.focus()
        self._show()

    def _show(self) -> None:
        fits, hint = self._judge(self._input.value)
        self._hint.update(Content(safe(hint)))
        self._hint.set_class(not fits, "-wrong")
        self._tasks.update(Content(_OWN if self._limits_tasks else _ALL))

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self._show()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_done()

    def action_done(self) -> None:
        """Return the command, if it can be run."""
        line = self._input.value.strip()
        if line and self._judge(line)[0]:
            self.dismiss(CommandWanted(line, self._limits_tasks))

    def action_tasks(self) -> None:
        """Change the tasks that are recorded."""
        self._limits_tasks = not self._limits_tasks
        self._show()

    def action_older(self, step: int) -> None:
        """Show a line of before, or what was typed again."""
        at = min(max(0, self._at + step), len(self._history))
        if not self._at:
            self._typed = self._input.value
        if at != self._at:
            self._at = at
            self._input.value = self._history[-at] if at else self._typed
