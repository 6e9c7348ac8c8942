"""Pane with a table of the events or calls that pass the filter, and a command to go to a time."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer

from tui.views.pause_position import PausePosition, Place
from widgets.call_after import call_after
from widgets.events.times import Stamp, kernel_stamp
from widgets.lists.table_pane import TablePane
from widgets.value_input import ValueInput

if TYPE_CHECKING:
    from tui.views.filtered_table import FilteredTable, Items

_BUDGET: Final = 0.01
"""Seconds for filtering at once."""


class FilteredPane(TablePane):
    """Pane of a `FilteredTable`, once there is one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "go_to_time", "Time", show=False, tooltip="Go to a time, as 12.304 or +0.5 or -2"),
    ]

    class FilterChanged(Message):
        """Sent when the filter has changed: all views show the rows that pass it."""

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.shown: FilteredTable[Items[object]] | None = None
        """Rows in the table; None until there is a store."""
        self.stamp: Stamp = kernel_stamp
        """Formats the times of rows."""
        self._timer: Timer | None = None
        self._position = PausePosition(self.table)
        self._ask = ValueInput()
        self.row_search.why_none = lambda text: _why_none(self.shown, text)

    def compose(self) -> ComposeResult:
        """Yield the table, the search, and the line that asks for a time."""
        yield from super().compose()
        yield self._ask

    @property
    def condition(self) -> str:
        """Condition that the rows pass; empty: none."""
        return self.shown.filter_text if self.shown is not None else ""

    @abstractmethod
    def refill(self) -> None:
        """Show rows again after the filter or the order has changed."""

    def show_times(self, stamp: Stamp) -> None:
        """Format times of rows in another way; a paused display keeps its position."""
        self.stamp = stamp
        if self.shown is not None:
            self.table.follower.replace(self.refill)

    def names_changed(self) -> None:
        """Filter again with new names of tasks, and keep the position of a paused display."""
        if self.shown is not None:
            place = self._position.read(self.shown)
            changed = self.shown.names_changed()
            if changed:
                self.refill()
                self._position.wanted = place
            if changed or (self.shown.order and self.shown.backlog):
                self._continue()
        self.table.names_changed()

    def fill(self, shown: FilteredTable[Items[object]] | None) -> None:
        """Show the rows of another store, or with other fields."""
        self.shown, self._position.wanted = shown, None
        self.refill()

    def tick(self) -> bool:
        """Show new rows after the store has grown; return True if more remain."""
        if self.shown is None:
            return False
        place = self._held_place()
        if self.shown.sync():
            self._position.wanted = place
            self.refill()
        more = self.shown.tick(_BUDGET)
        self.table.tick()
        self._position.restore(self.shown)
        return more

    def _held_place(self) -> Place | None:
        """Return the place that is kept when another filter is chosen; None: rows are followed, or are sorted."""
        return self._position.read(self.shown) if self.shown is not None and self.shown.order is None else None

    def only(self, condition: str) -> None:
        """Show only rows that match a condition, here and in all views. Raises ConditionError."""
        if self.shown is None:
            return
        place = self._held_place()
        self.shown.choose(condition)
        self._position.wanted = place
        self.refill()
        self._continue()
        self.post_message(self.FilterChanged())

    def _continue(self) -> None:
        """Process existing events in steps: an ended recording triggers no more ticks."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = call_after(self, _BUDGET, self._continue) if self.tick() else None

    def action_go_to_time(self) -> None:
        """Ask for a time."""
        self._ask.ask("time", "seconds, as 12.304; +0.5 or -2 from here:")

    @on(ValueInput.Left)
    def _ask_left(self, event: ValueInput.Left) -> None:
        event.stop()
        self.screen.set_focus(self.table)

    @on(ValueInput.Answered)
    def _go_to_time(self, event: ValueInput.Answered) -> None:
        event.stop()
        from tui.views.events.clauses import time_of

        shown = self.shown
        if shown is None:
            return
        ts = time_of(event.text, shown.ts(self.table.cursor))
        row = None if ts is None else shown.row_at(ts)
        if row is None:
            why = "these rows are not in the order of time: S" if shown.order else "no event is there, or later"
            self._ask.refuse("that is no time; seconds, as 12.304, +0.5 or -2:" if ts is None else f"{why}:")
            return
        self._ask.close()
        self.table.go_to(row)


def _why_none(shown: FilteredTable[Items[object]] | None, text: str) -> str:
    """Return why a text that is nearly a condition finds nothing; empty: unknown."""
    from events.conditions.condition_parser import condition_error

    return condition_error(text, shown.sorts, shown.numbers) if shown else ""
