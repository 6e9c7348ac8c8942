"""Pane with a table of the events or calls that pass the filter, and a command to go to a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer

from widgets.events.event_rows import EventColumn
from widgets.events.times import Stamp, kernel_stamp
from widgets.lists.table_pane import TablePane
from widgets.value_input import ValueInput

if TYPE_CHECKING:
    from events.search.field_kinds import ValueKind

_BUDGET: Final = 0.01
"""Seconds for filtering at once."""
SORT: Final = Binding(
    "S",
    "sort",
    "Sort",
    show=False,
    tooltip="Sort by this column (calls: by latency); again: reversed; again: by time",
)
"""Key of the panes whose rows can be sorted."""


class FilteredModel(Protocol):
    """Rows of which a filter may hide some."""

    order: tuple[EventColumn, bool] | None
    """Column that the rows are sorted by, and True for the largest first; None: in order of time."""

    @property
    def sorts(self) -> Mapping[str, ValueKind]:
        """Kind of value of each field, by name."""

    @property
    def filter_text(self) -> str:
        """Condition of the filter; empty: none."""

    @property
    def backlog(self) -> int:
        """Number of events or calls not yet checked."""

    @property
    def counts(self) -> tuple[int, int]:
        """Number of rows shown, and number of all rows."""

    def choose(self, text: str) -> None:
        """Set the filter; empty: none. Raises ConditionError."""

    def sync(self) -> bool:
        """Update the rows that pass; return True if they changed."""

    def tick(self, budget: float) -> bool:
        """Process new events, for `budget` seconds; return True if more remain."""

    def names_changed(self) -> bool:
        """Filter again with new names of tasks; return True if that changes the rows from the oldest on."""

    def place(self, row: int) -> int | None:
        """Return a number for the content of a row that does not depend on the filter; None: there is no such row."""

    def row_from(self, place: int) -> int:
        """Return the first row that is not before a place; the next new row if all are before."""

    def ts(self, row: int) -> int:
        """Return the nanoseconds of a row; of the newest if it was dropped; 0: there is none."""

    def row_at(self, ts: int) -> int | None:
        """Return the first row that is not older than a time; None: all are older, or rows are not in order of
        time.
        """


class FilteredPane(TablePane):
    """Pane of a `FilteredModel`, once there is one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "go_to_time", "Time", show=False, tooltip="Go to a time, as 12.304 or +0.5 or -2"),
    ]

    class FilterChanged(Message):
        """Sent when the filter has changed: all views show the rows that pass it."""

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.shown: FilteredModel | None = None
        """Rows in the table; None until there is a store."""
        self.stamp: Stamp = kernel_stamp
        """Formats the times of rows."""
        self._timer: Timer | None = None
        self._held: tuple[int, int, int] | None = None
        """Places of the cursor and the newest row, and the rows above the cursor, when the display was paused;
        restored when rows were replaced.
        """
        self._ask = ValueInput()
        self.why_none = self._why_none

    def compose(self) -> ComposeResult:
        """Yield the table, the search, and the line that asks for a time."""
        yield from super().compose()
        yield self._ask

    def _why_none(self, text: str) -> str:
        from events.search.condition_parser import condition_error

        return condition_error(text, self.shown.sorts) if self.shown else ""

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
            self.in_place(self.refill)

    def in_place(self, refill: Callable[[], None]) -> None:
        """Replace rows with `refill`; a paused display keeps its position."""
        table = self.table
        following, cursor, above, left_at = (
            table.following,
            table.cursor,
            table.cursor - table.top,
            table.follow.left_at,
        )
        refill()
        if not following:
            table.hold(cursor, above, left_at)

    def names_changed(self) -> None:
        """Filter again with new names of tasks, and keep the position of a paused display."""
        if self.shown is not None:
            held = self._position(self.shown)
            changed = self.shown.names_changed()
            if changed:
                self.refill()
                self._held = held
            if changed or (self.shown.order and self.shown.backlog):
                self._continue()
        self.table.names_changed()

    def _position(self, shown: FilteredModel) -> tuple[int, int, int] | None:
        table = self.table
        if table.following:
            return self._held
        cursor, newest = shown.place(table.cursor), shown.place(table.follow.left_at - 1)
        return None if cursor is None else (cursor, cursor if newest is None else newest, table.cursor - table.top)

    def _restore_position(self, shown: FilteredModel) -> None:
        """Go back to the row where the display was paused, once it is found."""
        if self._held is None:
            return
        cursor, newest, above = self._held
        if shown.backlog and shown.row_from(max(cursor, newest)) == self.table.rows.next:
            return
        self._held = None
        self.table.hold(shown.row_from(cursor), above, shown.row_from(newest + 1))

    def fill(self, shown: FilteredModel | None) -> None:
        """Show the rows of another store, or with other fields."""
        self.shown, self._held = shown, None
        self.refill()

    def tick(self) -> bool:
        """Show new rows after the store has grown; return True if more remain."""
        if self.shown is None:
            return False
        if self.shown.sync():
            self._held = None
            self.refill()
        more = self.shown.tick(_BUDGET)
        self.table.tick()
        self._restore_position(self.shown)
        return more

    def only(self, condition: str) -> None:
        """Show only rows that match a condition, here and in all views. Raises ConditionError."""
        if self.shown is None:
            return
        self.shown.choose(condition)
        self._held = None
        self.refill()
        self._continue()
        self.post_message(self.FilterChanged())

    def _continue(self) -> None:
        """Process existing events in steps: an ended recording triggers no more ticks."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_BUDGET, self._continue) if self.tick() else None

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
