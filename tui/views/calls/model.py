"""Rows of the table of calls: all calls, or those that pass the filter, in order of time or latency."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from events.record import Record
from events.search.comparison import LATENCY
from events.search.search import SearchStep
from tui.filter.filter import Filter
from tui.views.calls.call_text import CallTexts
from widgets.events.call_rows import CallText

if TYPE_CHECKING:
    from events.losses import Loss
    from events.search.field_kinds import ValueKind
    from events.search.filtered_calls import FilteredCalls
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from widgets.events.event_rows import EventColumn


class CallTable:
    """A `widgets.events.call_rows.CallSource`, and a model for `tui.views.events.filtered_pane`."""

    def __init__(self, watch: Watch, store: Store, chosen: Filter | None = None) -> None:
        """Set the filter; None: a new one."""
        self.filter = chosen or Filter()
        self.every = CallTexts(watch, store)
        self.order: tuple[EventColumn, bool] | None = None
        """Latency column, and True for the longest first; None: in the order in which calls ended."""
        self._ordered: list[int] | None = None
        """Numbers of calls sorted by latency, as of one moment; None: in order of time."""
        self._watching = watch
        self._store = store
        self._chosen: FilteredCalls | None = None
        self.sync()

    @property
    def first(self) -> int:
        """Oldest row."""
        if self._ordered is not None:
            return 0
        return self._chosen.first if self._chosen else self.every.first

    @property
    def next(self) -> int:
        """Number of the next row."""
        if self._ordered is not None:
            return len(self._ordered)
        return self._chosen.next if self._chosen else self.every.next

    @property
    def sorts(self) -> dict[str, ValueKind]:
        """Kind of value of each field, by name."""
        return self.filter.sorts(self._watching)

    @property
    def filter_text(self) -> str:
        """Condition of the filter; empty: none."""
        return self.filter.text if self._chosen else ""

    @property
    def backlog(self) -> int:
        """Number of events, or else calls, not yet checked."""
        return (self._chosen.events.backlog or self._chosen.backlog) if self._chosen else 0

    @property
    def counts(self) -> tuple[int, int]:
        """Number of calls shown, and number of all calls."""
        every = self.every.next - self.every.first - self.every.calls.marks_before(self.every.next)
        if self._ordered is not None:
            return len(self._ordered), every
        if self._chosen is not None:
            return self._chosen.next - self._chosen.first - self._chosen.marks, every
        return every, every

    def choose(self, text: str) -> None:
        """Set the filter; empty: none. Raises ConditionError."""
        self.filter.choose(text, self._watching)
        self.sync()

    def sync(self) -> bool:
        """Update the calls that pass; return True if the rows changed."""
        changed = self._take()
        if changed:
            self.unsort()
        return changed

    def _take(self) -> bool:
        from events.search.filtered_calls import FilteredCalls

        events = self.filter.of(self._watching, self._store)
        if events is (self._chosen.events if self._chosen else None):
            return False
        self._chosen = FilteredCalls(self.every.calls, events) if events else None
        return True

    def sort(self, descending: bool) -> None:
        """Sort the newest passing calls by latency; calls without one stand at the end."""
        from events.search.sorted_rows import MAX_SORTED_ROWS
        from widgets.events.event_rows import EventColumn

        self.unsort()
        numbers_shown = [self._row(row) for row in range(max(self.first, self.next - MAX_SORTED_ROWS), self.next)]
        numbers = self.every.calls.numbers(numbers_shown[0], numbers_shown[-1] + 1) if numbers_shown else None
        took = numbers.durations.tolist() if numbers else []
        paired = numbers.paired.tolist() if numbers else []
        timed = [row for row in numbers_shown if paired[row - numbers_shown[0]]]
        timed.sort(key=lambda row: took[row - numbers_shown[0]], reverse=descending)
        marks = numbers.marks.tolist() if numbers else []
        self._ordered = [
            *timed,
            *(row for row in numbers_shown if not (paired[row - numbers_shown[0]] or marks[row - numbers_shown[0]])),
        ]
        self.order = EventColumn(LATENCY), descending

    def unsort(self) -> None:
        """Restore the order of time, with new calls."""
        self._ordered, self.order = None, None

    def tick(self, budget: float) -> bool:
        """Pair new events and filter calls; return True if more remain."""
        self.every.tick(budget)
        if self._chosen:
            self._chosen.events.tick(budget)
            self._chosen.tick(budget)
        return self.every.calls.backlog > 0 or self.backlog > 0

    def names_changed(self) -> bool:
        """Filter again with new names of tasks; return True if that changes the rows from the oldest call on."""
        self.filter.names_changed(self._watching)
        if not self._take():
            return False
        return self._ordered is None  # sorted rows are of one moment

    def call(self, row: int) -> CallText:
        """Return the texts of a row. Raises IndexError if the row was dropped."""
        return self.every.call(self._row(row))

    def records(self, row: int) -> tuple[Record | None, Record | None]:
        """Return the entry and exit of a row; None: not received, or dropped. Raises IndexError if the row was
        dropped.
        """
        return self.every.records(self._row(row))

    def loss(self, row: int) -> Loss | None:
        """Return the lost events that a row stands for; None: the row is a call. Raises IndexError as `records`."""
        return self.every.loss(self._row(row))

    def place(self, row: int) -> int | None:
        """Return the number of a row's call among all calls; None: there is no such row."""
        return self._row(row) if self.first <= row < self.next else None

    def row_from(self, place: int) -> int:
        """Return the first row whose call has at least a number among all calls."""
        return self._chosen.at(place) if self._chosen else place

    def ts(self, row: int) -> int:
        """Return the nanoseconds of a call's last event; of the newest call if it was dropped; 0: there is no
        call.
        """
        for candidate in (row, self.next - 1):
            with contextlib.suppress(IndexError):
                return self._store.row(self._last(candidate)).ts
        return 0

    def row_at(self, ts: int) -> int | None:
        """Return the first row from which on calls end after a time; None: all ended before, or rows are sorted by
        latency.

        Rows are in the order in which calls were known to have ended: an exit without entry stands a little later.
        """
        if self._ordered is not None:
            return None
        numbers = self.every.calls.numbers(self.every.first, self.every.next)
        later = numbers.last >= self._store.at_time(ts)
        if self._chosen:
            return self._chosen.first_of(later, self.every.first)
        return self.every.first + int(later.argmax()) if later.any() else None

    def _last(self, row: int) -> int:
        """Return the sequence number of a call's last event. Raises IndexError if there is no such row."""
        call = self.every.calls.call(self._row(row))
        return max(one for one in (call.entry, call.exit, -1) if one is not None)

    def find(self, text: str, start: int, direction: int, budget: float) -> SearchStep:
        """Search for a text among the shown rows for at most `budget` seconds."""
        if self._chosen is None and self._ordered is None:
            return self.every.find(text, start, direction, budget)
        deadline = time.monotonic() + budget
        row = max(start, self.first) if direction > 0 else min(start, self.next - 1)
        while self.first <= row < self.next:
            number = self._row(row)
            if self.every.find(text, number, direction, 0.0).seq == number:
                return SearchStep(row, row + direction, True)
            row += direction
            if time.monotonic() >= deadline:
                return SearchStep(None, row, False)
        return SearchStep(None, row, True)

    def _row(self, row: int) -> int:
        if self._ordered is not None:
            if row < 0:
                raise IndexError(row)
            return self._ordered[row]
        return self._chosen.row(row) if self._chosen else row
