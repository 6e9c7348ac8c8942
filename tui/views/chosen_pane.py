"""A table of events of which only some are shown, by a condition that is typed or picked, with a way to a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.timer import Timer

from events.event_names import CGROUP
from widgets.ask_line import AskLine
from widgets.event_rows import EventColumn
from widgets.figures import grouped
from widgets.filter_line import FilterLine
from widgets.name_suggester import NameSuggester
from widgets.table_pane import TablePane

if TYPE_CHECKING:
    from events.field_sort import Sort

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


class Chosen(Protocol):
    """Rows of which only some may be shown."""

    order: tuple[EventColumn, bool] | None
    """By which column the rows are, and whether the largest comes first; None: by time."""

    @property
    def sorts(self) -> Mapping[str, Sort]:
        """What each field can be compared with."""

    @property
    def chosen_by(self) -> str:
        """The condition; empty: none."""

    @property
    def cgroups(self) -> Sequence[str]:
        """Paths of the cgroups that are known."""

    @property
    def remark(self) -> str:
        """What is to be known of the condition; empty: nothing."""

    @property
    def behind(self) -> int:
        """Events or calls that were not looked at yet."""

    @property
    def counts(self) -> tuple[int, int]:
        """How many are shown, and how many there are."""

    def choose(self, text: str) -> None:
        """Show only what a condition holds of; everything where it is empty. Raises ConditionError."""

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


class ChosenPane(TablePane):
    """Shows what is `Chosen`, once there is something."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "filter", "Filter", tooltip="Show only some: count > 4096 && (comm == cat || ret < 0)"),
        Binding("t", "go_to_time", "Time", show=False, tooltip="Go to a time, as 12.304 or +0.5 or -2"),
    ]

    HINT: ClassVar[str] = "count > 4096 && (comm == cat || ret < 0); Enter shows only these, empty: all"
    """What may be typed."""

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.shown: Chosen | None = None
        """What is in the table; None as long as there is no store."""
        self._looking: Timer | None = None
        self._held: tuple[int, int, int] | None = None
        """Places of the cursor and of the newest row when the picture was held, and the rows above the cursor; to be
        found again when there are other rows."""
        self._wanted = ""
        """The condition, as far as it is not being typed: what is shown next is chosen by it, too."""
        self._refused = ""
        """What is wrong with what was typed; what was chosen before it still is."""
        self._line = FilterLine(self.HINT, NameSuggester(CGROUP, lambda: self.shown.cgroups if self.shown else ()))
        self._ask = AskLine()
        self.why_none = self._why_none

    def compose(self) -> ComposeResult:
        """The table, the search, and which events are shown."""
        yield from super().compose()
        yield self._line
        yield self._ask

    def _why_none(self, text: str) -> str:
        from events.condition_text import why_no_condition

        return why_no_condition(text, self.shown.sorts) if self.shown else ""

    @property
    def left_from(self) -> int:
        """How many rows there would be without the condition; 0: there is none."""
        return self.shown.counts[1] if self.condition and self.shown is not None else 0

    @property
    def condition(self) -> str:
        """What the events are chosen by; empty: nothing."""
        return self.shown.chosen_by if self.shown is not None else ""

    @abstractmethod
    def refill(self) -> None:
        """Which events are shown, or in which order, has changed."""

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

    def _where(self, shown: Chosen) -> tuple[int, int, int] | None:
        table = self.table
        if table.following:
            return self._held
        cursor, newest = shown.place(table.cursor), shown.place(table.left_at - 1)
        return None if cursor is None else (cursor, cursor if newest is None else newest, table.cursor - table.top)

    def _hold(self, shown: Chosen) -> None:
        """Go back to the row that was held, once it is found."""
        if self._held is None:
            return
        cursor, newest, above = self._held
        if shown.behind and shown.row_from(max(cursor, newest)) == self.table.rows.next:
            return
        self._held = None
        self.table.hold(shown.row_from(cursor), above, shown.row_from(newest + 1))

    def fill(self, shown: Chosen | None) -> None:
        """Show another store, or one that has other fields; a condition is kept where its fields are there."""
        self.shown, self._held = shown, None
        if shown is not None and self._wanted:
            self._choose(self._wanted)
        self.refill()

    def tick(self) -> bool:
        """The store has grown; True: there is more to do."""
        if self.shown is None:
            return False
        more = self.shown.tick(_BUDGET)
        self._say()
        self.table.tick()
        self._hold(self.shown)
        return more

    def action_filter(self) -> None:
        """Type a condition."""
        self._line.ask()

    def only(self, condition: str) -> None:
        """Show the events that a condition holds of, and no others."""
        self._line.text = self._wanted = condition
        self._choose(condition)
        self.refill()

    @on(FilterLine.Typed)
    def _line_typed(self, event: FilterLine.Typed) -> None:
        event.stop()
        if self._choose(event.text):
            self.refill()
            self._line.action_leave()

    @on(FilterLine.Left)
    def _line_left(self, event: FilterLine.Left) -> None:
        event.stop()
        if self._refused:  # else the line would tell of a choice that is none
            self._refused = ""
            self._line.text = self.condition
            self._say()
        self.screen.set_focus(self.table)

    def _choose(self, text: str) -> bool:
        if self.shown is None:
            self._wanted = text
            return False
        from events.condition_text import ConditionError

        try:
            self.shown.choose(text)
        except ConditionError as error:
            self._refused = f"at {error.at + 1}: {error}"
            self._say()
            return False
        self._wanted, self._refused, self._held = text, "", None
        self._look_on()
        return True

    def _look_on(self) -> None:
        """Look through what is there already, a moment at a time: a recording that has ended brings no more ticks."""
        if self._looking is not None:
            self._looking.stop()
        self._looking = self.set_timer(_BUDGET, self._look_on) if self.tick() else None

    def _say(self) -> None:
        shown = self.shown
        if self._refused or shown is None or not shown.chosen_by:
            self._line.say(self._refused, refused=bool(self._refused))
            return
        behind = f", {grouped(shown.behind)} to look at" if shown.behind else ""
        few, every = map(grouped, shown.counts)
        self._line.say(", ".join(filter(None, (f"{few} of {every}{behind}", shown.remark))))

    def action_go_to_time(self) -> None:
        """Ask for a time."""
        self._ask.ask("time", "seconds, as 12.304; +0.5 or -2 from here:")

    @on(AskLine.Left)
    def _ask_left(self, event: AskLine.Left) -> None:
        event.stop()
        self.screen.set_focus(self.table)

    @on(AskLine.Answered)
    def _go_to_time(self, event: AskLine.Answered) -> None:
        event.stop()
        from tui.views.event_clauses import time_of

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
