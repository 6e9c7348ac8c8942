"""A table of events of which only some are shown, by a condition that is typed or picked, with a way to a time."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from events.condition_text import ConditionError, why_no_condition
from events.record import Record
from tui.shown_events import ShownEvents
from tui.views.event_clauses import time_of
from widgets.figures import grouped
from widgets.filter_line import FilterLine
from widgets.table_pane import TablePane

_BUDGET: Final = 0.01
"""Seconds that choosing may take at once."""


class ChosenPane(TablePane):
    """Shows a `ShownEvents`, once there is one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "filter", "Filter", tooltip="Show only some: count > 4096 && (comm == cat || ret < 0)"),
        Binding("t", "go_to_time", "Time", show=False, tooltip="Go to a time, as 12.304 or +0.5 or -2"),
    ]

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.shown: ShownEvents | None = None
        """What is in the table; None as long as there is no store."""
        self.fields: tuple[str, ...] = ()
        """Names of what is recorded."""
        self._line = FilterLine(
            "filter ", "count > 4096 && (comm == cat || ret < 0); Enter shows only these, empty: all"
        )
        self._time = FilterLine("time ", "seconds, as 12.304; +0.5 or -2 from here")
        self.why_none = lambda text: why_no_condition(text, self.fields)

    def compose(self) -> ComposeResult:
        """The table, the search, and which events are shown."""
        yield from super().compose()
        yield self._line
        yield self._time

    @property
    def condition(self) -> str:
        """What the events are chosen by; empty: nothing."""
        return self._line.text.strip()

    @abstractmethod
    def refill(self) -> None:
        """Which events are shown, or in which order, has changed."""

    def show(self, shown: ShownEvents | None, fields: tuple[str, ...]) -> None:
        """Show another store, or one that has other fields; a condition is kept where its fields are there."""
        self.shown, self.fields = shown, fields
        if shown is not None and self._line.text:
            self._choose(self._line.text)
        self.refill()

    def tick(self) -> bool:
        """The store has grown; True: there is more to do."""
        if self.shown is None:
            return False
        more = self.shown.tick(_BUDGET)
        self._say()
        self.table.tick()
        return more

    @property
    def record(self) -> Record | None:
        """The event under the cursor; None where there is no cursor, or it was dropped."""
        if self.shown is None or self.table.following:
            return None
        try:
            return self.shown.record(self.table.cursor)
        except IndexError:
            return None

    def action_filter(self) -> None:
        """Type a condition."""
        self._line.ask()

    def only(self, condition: str) -> None:
        """Show the events that a condition holds of, and no others."""
        self._line.text = condition
        self._choose(condition)
        self.refill()

    @on(FilterLine.Typed)
    def _line_typed(self, event: FilterLine.Typed) -> None:
        event.stop()
        if event.line is self._time:
            self._go_to_time(event.text)
        elif self._choose(event.text):
            self.refill()
            self._line.action_leave()

    @on(FilterLine.Left)
    def _line_left(self, event: FilterLine.Left) -> None:
        event.stop()
        self.screen.set_focus(self.table)

    def _choose(self, text: str) -> bool:
        if self.shown is None:
            return False
        try:
            self.shown.choose(text)
        except ConditionError as error:
            self._line.say(f"{error}, at {error.at + 1}", refused=True)
            return False
        self._look_on()
        return True

    def _look_on(self) -> None:
        """Look through what is there already, a moment at a time: a recording that has ended brings no more ticks."""
        if self.tick():
            self.set_timer(_BUDGET, self._look_on)

    def _say(self) -> None:
        shown = self.shown
        if shown is None or shown.condition is None:
            self._line.say("")
            return
        behind = f", {grouped(shown.behind)} to look at" if shown.behind else ""
        self._line.say(f"{grouped(shown.next_seq - shown.first_seq)} of {grouped(len(shown.store))}{behind}")

    def action_go_to_time(self) -> None:
        """Ask for a time."""
        self._time.text = ""
        self._time.ask()

    def _go_to_time(self, text: str) -> None:
        shown = self.shown
        if shown is None:
            return
        record = self.record or shown.newest
        ts = time_of(text, record.ts if record else 0)
        row = None if ts is None else shown.row_at(ts)
        if row is None:
            why = "these rows are not in the order of time: S" if shown.order else "no event is there, or later"
            self._time.say("seconds, as 12.304, +0.5 or -2" if ts is None else why, refused=True)
            return
        self._time.text = ""
        self._time.action_leave()
        self.table.go_to(row)
