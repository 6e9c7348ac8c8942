"""Dialog to choose the keys and the statistics of an aggregate from a list of names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from events.aggregates.request import MAX_KEYS, AggregateFunction, AggregateRequest, Statistic
from widgets.dialogs.dialog import Dialog
from widgets.lists.line_list import LineList
from widgets.rows import Piece
from widgets.safe_text import cut, fit, safe, width

_NAME: Final = 24
"""Greatest width of a name."""


class NameChoice(NamedTuple):
    """Name of the list."""

    name: str
    is_key: bool
    is_value: bool


class ChoiceRows:
    """Rows of the list: number of the key, name, statistics."""

    first = 0

    def __init__(self, names: Sequence[NameChoice], request: AggregateRequest) -> None:
        self.names = tuple(names)
        self.request = request
        self.next = len(self.names)

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return the name of a row with what is chosen of it."""
        name, is_key, is_value = self.names[row]
        keys = self.request.keys
        mark = f"[{keys.index(name) + 1}]" if name in keys else "[ ]" if is_key else "   "
        room = min(_NAME, max((width(safe(one.name)) for one in self.names), default=0))
        own = [str(one.function) for one in self.request.statistics if one.value == name]
        yield Piece(f"{mark} ", "mark" if name in keys else "dim")
        yield Piece(fit(safe(name), room) + "  ", "name" if name in keys or own else "")
        if own:
            yield Piece(cut(", ".join(own), max(0, columns - room - 6)), "number")
        elif is_value:
            yield Piece(cut("a number", max(0, columns - room - 6)), "dim")


class ChoiceList(LineList):
    """List of the names, with the keys that choose."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "key", "Key", key_display="space", tooltip="Make this a key, or no key"),
        Binding("s", "statistic('sum')", "Sum", tooltip="Add up this value in each row, or no more"),
        Binding("a", "statistic('avg')", "Avg", tooltip="Show its average, or no more"),
        Binding("i", "statistic('min')", "Min", tooltip="Show its minimum, or no more"),
        Binding("x", "statistic('max')", "Max", tooltip="Show its maximum, or no more"),
        Binding("l", "statistic('log2')", "Log2", tooltip="Count its powers of two in each row, or no more"),
        Binding("enter", "select", "Show", key_display="enter", tooltip="Show the table"),
    ]

    def __init__(self, rows: ChoiceRows) -> None:
        super().__init__(rows)
        self.choice = rows

    def action_key(self) -> None:
        """Make the name under the cursor a key, or no key any more."""
        name, is_key, _ = self.choice.names[self.cursor]
        keys = self.choice.request.keys
        if name in keys:
            self._change(self.choice.request._replace(keys=tuple(key for key in keys if key != name)))
        elif not is_key:
            self.notify(f"{name} is a value, not a key: sum, avg, min, max or log2", markup=False)
        elif len(keys) == MAX_KEYS:
            self.notify(f"at most {MAX_KEYS} keys are possible", markup=False)
        else:
            self._change(self.choice.request._replace(keys=(*keys, name)))

    def action_statistic(self, function: str) -> None:
        """Show a statistic of the value under the cursor, or no more."""
        name, _, is_value = self.choice.names[self.cursor]
        statistics, one = self.choice.request.statistics, Statistic(AggregateFunction(function), name)
        if not is_value:
            self.notify(f"{name} is no number that can be summed", markup=False)
        elif one in statistics:
            self._change(
                self.choice.request._replace(statistics=tuple(other for other in statistics if other != one))
            )
        else:
            self._change(self.choice.request._replace(statistics=(*statistics, one)))

    def _change(self, request: AggregateRequest) -> None:
        self.choice.request = request
        self.rows_changed()


class AggregateChooser(Dialog[AggregateRequest]):
    """Dialog that returns what is to be aggregated, or None for Escape."""

    DEFAULT_CSS = """
    AggregateChooser {
        & LineList { height: auto; max-height: 14; min-height: 2; margin: 1 0 0 0; }
    }
    """

    def __init__(self, names: Sequence[NameChoice], request: AggregateRequest) -> None:
        """Set the names, and what is aggregated now."""
        super().__init__()
        self._list = ChoiceList(ChoiceRows(names, request))

    def compose(self) -> ComposeResult:
        """Yield question and list."""
        with Vertical(classes="box") as box:
            box.border_title = "aggregate"
            yield Static(Content.styled("Rows by which keys, with what of which values?", "bold"))
            yield self._list

    def on_mount(self) -> None:
        """Focus the list."""
        self.set_focus(self._list)

    @on(LineList.Selected)
    def _taken(self, event: LineList.Selected) -> None:
        event.stop()
        self.dismiss(self._list.choice.request)
