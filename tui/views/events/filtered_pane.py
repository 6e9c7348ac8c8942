"""A table of the events or calls that pass the filter, with a way to a time."""

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
"""Seconds that choosing may take at once."""
SORT: Final = Binding(
    "S",
    "sort",
    "Sort",
    show=False,
    tooltip="By this column, calls by latency: one way, the other, in the order of time again",
)
"""Of the panes whose rows can be put in another order."""


class FilteredModel(Protocol):
    """Rows of which only some may be shown."""

    order: tuple[EventColumn, bool] | None
    """By which column the rows are, and whether the largest comes first; None: by time."""

    @property
    def sorts(self) -> Mapping[str, ValueKind]:
        """What each field can be compared with."""

    @property
    def chosen_by(self) -> str:
        """The condition; empty: none."""

    @property
    def behind(self) -> int:
        """Events or calls that were not looked at yet."""

    @property
    def counts(self) -> tuple[int, int]:
        """How many are shown, and how many there are."""

    def choose(self, text: str) -> None:
        """Set the filter; empty: none. Raises ConditionError."""

    def sync(self) -> bool:
        """Take what passes by now; True: these are other rows."""

    def tick(self, budget: float) -> bool:
        """Look at what came, for so many seconds; True: there is more to do."""

    def names_changed(self) -> bool:
        """Tasks have names now; True: that changes what is shown, from the oldest row on."""

    def place(self, row: int) -> int | None:
        """A number of what stands in a row, the same whatever is chosen besides; None: nothing does."""

    def row_from(self, place: int) -> int:
        """The first row that is not before a place; the one that comes next where all are."""

    def ts(self, row: int) -> int:
        """Nanoseconds of a row, or of the newest where that was dropped; 0: there is none."""

    def row_at(self, ts: int) -> int | None:
        """The first row that is not older than a time; None: all are, or they are not in the order of time."""


class FilteredPane(TablePane):
    """Shows what is `FilteredModel`, once there is something."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "go_to_time", "Time", show=False, tooltip="Go to a time, as 12.304 or +0.5 or -2"),
    ]

    class FilterChanged(Message):
        """The filter is another one: all views show what passes it."""

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.shown: FilteredModel | None = None
        """What is in the table; None as long as there is no store."""
        self.stamp: Stamp = kernel_stamp
        """Writes the times of rows."""
        self._looking: Timer | None = None
        self._held: tuple[int, int, int] | None = None
        """Places of the cursor and of the newest row when the picture was held, and the rows above the cursor; to be
        found again when there are other rows."""
        self._ask = ValueInput()
        self.why_none = self._why_none

    def compose(self) -> ComposeResult:
        """The table, the search, and the line that asks for a time."""
        yield from super().compose()
        yield self._ask

    def _why_none(self, text: str) -> str:
        from events.search.condition_parser import why_no_condition

        return why_no_condition(text, self.shown.sorts) if self.shown else ""

    @property
    def condition(self) -> str:
        """What the rows are chosen by; empty: nothing."""
        return self.shown.chosen_by if self.shown is not None else ""

    @abstractmethod
    def refill(self) -> None:
        """Which events are shown, or in which order, has changed."""

    def show_times(self, stamp: Stamp) -> None:
        """Write times of rows in another way; a picture that is held stays as it is."""
        self.stamp = stamp
        if self.shown is not None:
            self.in_place(self.refill)

    def in_place(self, refill: Callable[[], None]) -> None:
        """Show rows anew; a picture that is held stays as it is."""
        table = self.table
        following, cursor, above, left_at = table.following, table.cursor, table.cursor - table.top, table.left_at
        refill()
        if not following:
            table.hold(cursor, above, left_at)

    def names_changed(self) -> None:
        """Tasks have names now: what is chosen by name is chosen anew, and who reads a row stays there."""
        if self.shown is not None:
            held = self._where(self.shown)
            changed = self.shown.names_changed()
            if changed:
                self.refill()
                self._held = held
            if changed or (self.shown.order and self.shown.behind):
                self._look_on()
        self.table.names_changed()

    def _where(self, shown: FilteredModel) -> tuple[int, int, int] | None:
        table = self.table
        if table.following:
            return self._held
        cursor, newest = shown.place(table.cursor), shown.place(table.left_at - 1)
        return None if cursor is None else (cursor, cursor if newest is None else newest, table.cursor - table.top)

    def _hold(self, shown: FilteredModel) -> None:
        """Go back to the row that was held, once it is found."""
        if self._held is None:
            return
        cursor, newest, above = self._held
        if shown.behind and shown.row_from(max(cursor, newest)) == self.table.rows.next:
            return
        self._held = None
        self.table.hold(shown.row_from(cursor), above, shown.row_from(newest + 1))

    def fill(self, shown: FilteredModel | None) -> None:
        """Show another store, or one that has other fields."""
        self.shown, self._held = shown, None
        self.refill()

    def tick(self) -> bool:
        """The store has grown; True: there is more to do."""
        if self.shown is None:
            return False
        if self.shown.sync():
            self._held = None
            self.refill()
        more = self.shown.tick(_BUDGET)
        self.table.tick()
        self._hold(self.shown)
        return more

    def only(self, condition: str) -> None:
        """Show what a condition holds of, and nothing else, here and in all views. Raises ConditionError."""
        if self.shown is None:
            return
        self.shown.choose(condition)
        self._held = None
        self.refill()
        self._look_on()
        self.post_message(self.FilterChanged())

    def _look_on(self) -> None:
        """Look through what is there already, a moment at a time: a recording that has ended brings no more ticks."""
        if self._looking is not None:
            self._looking.stop()
        self._looking = self.set_timer(_BUDGET, self._look_on) if self.tick() else None

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
