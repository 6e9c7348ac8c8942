"""Pane with the tree of calls, its search line, and a line that asks for durations."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from widgets.events.graph_table import GraphTable
from widgets.events.hot_rows import HotTable
from widgets.lists.sortable_pane import SortablePane
from widgets.lists.tail_table import TailTable
from widgets.value_input import ValueInput

_TIME: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+) *(ns|us|µs|ms|s)?")
_UNITS: Final = {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_LONGEST: Final = 20
"""Greatest number of digits."""
_ASKED: Final = {
    "least": "hide calls that took less than (10us, 2ms; empty: show all)",
    "slow": "slow is a call from (10us, 2ms; empty: one of a hundred)",
}


def nanoseconds(text: str) -> int | None:
    """Return the nanoseconds of `10us`, `1.5 ms`, `20` (microseconds) or an empty text (0); None: no duration."""
    if not text:
        return 0
    found = _TIME.fullmatch(text)
    if not found or len(found[1]) > _LONGEST:  # a number too large for a float is no duration
        return None
    return round(float(found[1]) * _UNITS[found[2] or "us"])


class GraphPane(SortablePane):
    """Pane of a `GraphTable` (`.table`), its search, and its question for durations."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("h", "hot", "Hot spots", id="graph.hot", tooltip="Time by function; again: back to the tree"),
        Binding(
            "minus",
            "ask('least')",
            "Hide short",
            key_display="-",
            id="graph.least",
            tooltip="Hide calls that took less than a time",
        ),
        Binding(
            "equals_sign",
            "ask('slow')",
            "Slow is",
            key_display="=",
            show=False,
            id="graph.slow",
            tooltip="Set the duration from which a call is slow",
        ),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        self.graph, self.hot = GraphTable(), HotTable()
        super().__init__(self.graph, self.hot.ordered, id=id)
        self.hot.display = False
        self.timed: Callable[[str, int], None] = lambda what, nanoseconds: None  # noqa: ARG005
        """Called with `least` or `slow` and the entered nanoseconds; 0: none."""
        self.turned: Callable[[], None] = lambda: None
        """Called when the other table is shown."""
        self._ask = ValueInput()

    def compose(self) -> ComposeResult:
        """Yield the tables, the search line, and the line for durations."""
        yield self.hot
        yield from super().compose()
        yield self._ask

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow durations only for the tree, and an order only for the hot spots."""
        if action in ("ask", "sort"):
            return (self.table is self.graph) == (action == "ask")
        return super().check_action(action, parameters)

    def sort_by(self, column: int) -> None:
        """Sort the hot spots by the column whose title was clicked; a tree has one order."""
        if self.table is self.graph:
            self.notify("the tree is in the order of time; h: functions, which can be sorted", markup=False)
        else:
            super().sort_by(column)

    def action_hot(self) -> None:
        """Switch between the tree and the hot spots."""
        self.table.display = False
        self.table = self.hot if self.table is self.graph else self.graph
        self.table.display = True
        self.screen.set_focus(self.table)
        self.turned()
        self.post_message(TailTable.Followed(self.table.follow.following))  # the status line shows other figures

    def action_ask(self, what: str) -> None:
        """Ask for a duration."""
        self._ask.ask(what, _ASKED[what])

    @on(GraphTable.NothingSlow)
    def _nothing_slow(self, event: GraphTable.NothingSlow) -> None:
        event.stop()
        self.notify("no slow call in that direction; = says from which time on a call is slow", markup=False)

    @on(ValueInput.Answered)
    def _answered(self, event: ValueInput.Answered) -> None:
        event.stop()
        time = nanoseconds(event.text)
        if time is None:
            self._ask.refuse("that is no time; say 10us, 2ms, 1.5s")
            return
        self._ask.close()
        self.timed(event.asked, time)

    @on(ValueInput.Left)
    def _left(self, event: ValueInput.Left) -> None:
        event.stop()
        self.screen.set_focus(self.table)
