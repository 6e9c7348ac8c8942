"""Dialog with the local variables at an instruction: those that are ticked become values of a probe there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from probes.readable.variables import PlaceVariable
from widgets.dialogs.dialog import Dialog
from widgets.lists.line_list import LineList
from widgets.rows import NoRows, Piece
from widgets.safe_text import cut, safe

_MOST_NAME, _MOST_TYPE = 28, 24
"""Maximum columns of names and of types."""


class _VariableRows:
    """Rows of variables with their ticks."""

    first = 0

    def __init__(self, variables: Sequence[PlaceVariable]) -> None:
        self.variables = tuple(variables)
        self.next = len(self.variables)
        self.ticked = set[int]()
        """Rows that are ticked."""
        self._name = min(max((len(_name(one)) for one in variables), default=0), _MOST_NAME)
        self._type = min(max((len(one.c_type) for one in variables), default=0), _MOST_TYPE)

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return tick, name, type, and fetcharg or reason of a row."""
        one = self.variables[row]
        is_readable = one.fetcharg is not None
        box = ("[x]" if row in self.ticked else "[ ]") if is_readable else " - "
        name = cut(safe(_name(one)), self._name)
        yield Piece(f"{box} {name:<{self._name}} ", "name" if is_readable else "dim")
        yield Piece(f"{cut(safe(one.c_type), self._type):<{self._type}}  ", "type" if is_readable else "dim")
        left = max(columns - self._name - self._type - 7, 1)
        yield Piece(cut(safe(one.text), left), "" if is_readable else "dim")


def _name(variable: PlaceVariable) -> str:
    """Return the name of a variable, with that of the inlined function whose it is: `file (fsnotify_file)`."""
    return f"{variable.name} ({variable.origin})" if variable.origin else variable.name


class VariableRows(LineList):
    """List of variables."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "select",
            "Probe here",
            key_display="enter",
            id="variables.probe",
            tooltip="Specify a kprobe on the instruction, with the ticked variables",
        ),
        Binding("space", "tick", "Tick", id="variables.tick", tooltip="Record the variable under the cursor, or not"),
    ]

    def action_tick(self) -> None:
        """Tick the variable under the cursor, or take the tick away, where a probe can read it."""
        rows, row = self.rows, self.cursor
        if isinstance(rows, _VariableRows) and row < rows.next and rows.variables[row].fetcharg is not None:
            rows.ticked ^= {row}
            self.repaint_row(row)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer a probe and ticks where there are variables."""
        return (action not in ("select", "tick") or self.rows.next > 0) and super().check_action(action, parameters)


class VariableDialog(Dialog[tuple[str, ...]]):
    """Dialog that returns the fetchargs of the ticked variables, or None for Escape."""

    DEFAULT_CSS = """
    VariableDialog {
        & .box { width: 90%; height: 80%; }
        & LineList { height: 1fr; }
    }
    """

    def __init__(self, place: str) -> None:
        """Set the place of the instruction; `show` sets its variables later."""
        super().__init__()
        self.place = place
        """Instruction as a kprobe names it."""
        self._head = Static("", markup=False)
        self._list = VariableRows(NoRows())

    def compose(self) -> ComposeResult:
        """Yield the line with what is going on, and the variables."""
        with Vertical(classes="box") as box:
            box.border_title = "variables"
            yield self._head
            yield self._list

    def on_mount(self) -> None:
        """Focus the list."""
        self.say(f"{self.place}: reading debug information …")
        self.set_focus(self._list)

    def show(self, variables: Sequence[PlaceVariable]) -> None:
        """Show variables, none of them ticked."""
        self._list.rows = _VariableRows(variables)
        readable = sum(one.fetcharg is not None for one in variables)
        self.say(f"{self.place}: {readable} of {len(variables)} variables in scope can be recorded")
        self.refresh_bindings()

    def say(self, text: str) -> None:
        """Show what is going on, or why there are no variables."""
        self._head.update(Content(safe(text)))

    @on(LineList.Selected)
    def _taken(self, event: LineList.Selected) -> None:
        event.stop()
        rows = self._list.rows
        if isinstance(rows, _VariableRows):
            self.dismiss(tuple(str(rows.variables[row].fetcharg) for row in sorted(rows.ticked)))
