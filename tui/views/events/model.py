"""Rows of the table of events: all, those that pass the filter, or these sorted by a column."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from events.record import Record
from events.search.condition import Condition
from events.search.condition_parser import ConditionError, parse_condition
from events.search.field_kinds import ValueKind
from events.search.find import find
from events.search.search import SearchStep
from kernel.watch.watch import Watch
from tui.filter.filter import Filter
from tui.present.value_text import ValueStyle
from widgets.events.event_rows import Event, EventColumn

if TYPE_CHECKING:
    from events.search.filtered_rows import AllRows, FilteredRows
    from events.search.sorted_rows import SortedRows
    from events.store.store import Store


class EventTable:
    """Rows of a store; a search finds the text that the table shows."""

    def __init__(self, watch: Watch, store: Store, chosen: Filter | None = None) -> None:
        """Set the filter; None: a new one."""
        from events.search.filtered_rows import AllRows  # imports numpy

        self.store = store
        self.filter = chosen or Filter()
        self._watching = watch
        self._values = ValueStyle(watch.known)
        self._all: AllRows = AllRows(store)
        self._chosen = self.filter.of(watch, store)
        self._ordered: SortedRows | None = None
        self.order: tuple[EventColumn, bool] | None = None
        """Column that the rows are sorted by, and True for the largest first; None: in order of time."""

    @property
    def selection(self) -> AllRows | FilteredRows | SortedRows:
        """Rows that are shown."""
        return self._ordered or self._chosen or self._all

    @property
    def behind(self) -> int:
        """Number of events not yet checked."""
        return self._chosen.behind if self._chosen else 0

    def choose(self, text: str) -> None:
        """Set the filter; empty: none. Raises ConditionError."""
        self.filter.choose(text, self._watching)
        self.sync()

    def sync(self) -> bool:
        """Update the events that pass; return True if the rows changed."""
        chosen = self.filter.of(self._watching, self.store)
        if chosen is self._chosen:
            return False
        self._chosen = chosen
        self.unsort()
        return True

    def sort(self, column: EventColumn, descending: bool) -> None:
        """Sort the events that pass now by a column."""
        from events.search.sorted_rows import sort_rows

        rows = self._chosen or self._all
        self._ordered = sort_rows(self.store, rows, column.name, descending, own=not column.of_all)
        self.order = column, descending

    def unsort(self) -> None:
        """Restore the order of time, with new events."""
        self._ordered, self.order = None, None

    def tick(self, budget: float) -> bool:
        """Check new events; return True if more remain."""
        if self._chosen:
            self._chosen.tick(budget)
        return self.behind > 0

    def names_changed(self) -> bool:
        """Filter again with new names of tasks; return True if that changes the rows from the oldest event on."""
        self.filter.names_changed(self._watching)
        chosen = self.filter.of(self._watching, self.store)
        if chosen is self._chosen:
            return False
        self._chosen = chosen
        return self._ordered is None  # sorted rows are of one moment

    # -- interface of `widgets.events.event_rows.EventStore`

    @property
    def first_seq(self) -> int:
        """Oldest row."""
        return self.selection.first

    @property
    def next_seq(self) -> int:
        """Number of the next row."""
        return self.selection.next

    def record(self, row: int) -> Record:
        """Return the event of a row. Raises IndexError if it was dropped."""
        return self.store.record(self.selection.seq(row))

    @property
    def sorts(self) -> dict[str, ValueKind]:
        """Kind of value of each field, by name."""
        return self.filter.sorts(self._watching)

    @property
    def chosen_by(self) -> str:
        """Condition of the filter; empty: none."""
        return self.filter.text if self._chosen else ""

    @property
    def counts(self) -> tuple[int, int]:
        """Number of events shown, and number of all events."""
        return self.next_seq - self.first_seq, len(self.store)

    def ts(self, row: int) -> int:
        """Return the nanoseconds of a row; of the newest event if it was dropped; 0: there is none."""
        with contextlib.suppress(IndexError):
            return self.store.row(self.selection.seq(row)).ts
        return self.store.row(self.store.next_seq - 1).ts if len(self.store) else 0

    def row(self, seq: int) -> int | None:
        """Return the row of an event; None: it is hidden or dropped, or rows are not in order of time."""
        chosen = self._chosen or self._all
        row = chosen.at(seq)
        is_shown = not self._ordered and chosen.first <= row < chosen.next
        return row if is_shown and chosen.seq(row) == seq else None

    def place(self, row: int) -> int | None:
        """Return the sequence number of a row's event; None: there is no such row."""
        with contextlib.suppress(IndexError):
            return self.selection.seq(row) if self.first_seq <= row < self.next_seq else None
        return None

    def row_from(self, place: int) -> int:
        """Return the first row, in order of time, whose event has at least a sequence number."""
        return (self._chosen or self._all).at(place)

    def row_at(self, ts: int) -> int | None:
        """Return the first row not older than a time in nanoseconds; None as for `row`, or if all are older."""
        chosen = self._chosen or self._all
        row = chosen.at(self.store.at_time(ts))
        return row if not self._ordered and row < chosen.next else None

    def cells(self, event: Event) -> Mapping[str, str]:
        """Return the texts of an event by field name."""
        return dict(self._values.values(event)) if isinstance(event, Record) else {}

    def find(self, match: str, start: int, direction: int = 1, budget: float = 0.01) -> SearchStep:
        """Search for a text as it is shown, or for a condition: `count > 4096`."""
        wanted = self._wanted(match)
        if self._ordered is not None:
            return self._find_by_row(match, start, direction, budget)
        chosen = self._chosen or self._all
        deadline = time.monotonic() + budget
        # the next row of the search may have been dropped meanwhile
        row = max(start, chosen.first) if direction > 0 else start
        while chosen.first <= row < chosen.next:
            left = max(0.0, deadline - time.monotonic())
            found = find(self.store, wanted, chosen.seq(row), direction, left, style=self._values)
            row = chosen.at(found.next) if direction > 0 else chosen.at(found.next + 1) - 1
            if found.seq is not None and (at := chosen.at(found.seq)) < chosen.next and chosen.seq(at) == found.seq:
                return SearchStep(at, at + direction, True)
            if time.monotonic() >= deadline:
                return SearchStep(None, row, not chosen.first <= row < chosen.next)
        return SearchStep(None, row, True)

    def _condition(self, text: str) -> Condition:
        return parse_condition(
            text, self.sorts, self.store.comm, self.store.cgroups, lambda: self._watching.info.loaded_symbols
        )

    def _wanted(self, text: str) -> Condition | str:
        try:
            return self._condition(text)
        except ConditionError:
            return text

    def _find_by_row(self, text: str, row: int, direction: int, budget: float) -> SearchStep:
        """Search row by row: in another order than the store's many rows can't be checked at once."""
        from events.search.text_match import TextMatch

        wanted = self._wanted(text)
        store = self.store
        holds = TextMatch(wanted, self._values, store.comm, store.comms) if isinstance(wanted, str) else wanted
        deadline = time.monotonic() + budget
        while self.first_seq <= row < self.next_seq:
            try:
                if holds(self.record(row)):
                    return SearchStep(row, row + direction, True)
            except IndexError:
                pass  # the row was dropped
            row += direction
            if time.monotonic() >= deadline:
                return SearchStep(None, row, False)
        return SearchStep(None, row, True)
