"""The calls that the table shows: all of them, or those that pass the filter."""

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
    """A `widgets.events.call_rows.CallSource`, and what `tui.views.events.filtered_pane` asks for."""

    def __init__(self, watching: Watch, store: Store, chosen: Filter | None = None) -> None:
        """Take the filter; None: one of its own."""
        self.filter = chosen or Filter()
        self.every = CallTexts(watching, store)
        self.order: tuple[EventColumn, bool] | None = None
        """By latency, and whether the longest comes first; None: in the order in which they ended."""
        self._ordered: list[int] | None = None
        """Numbers of calls in another order than that of time, as of one moment."""
        self._watching = watching
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
        """Row that comes next."""
        if self._ordered is not None:
            return len(self._ordered)
        return self._chosen.next if self._chosen else self.every.next

    @property
    def sorts(self) -> dict[str, ValueKind]:
        """What each field can be compared with."""
        return self.filter.sorts(self._watching)

    @property
    def chosen_by(self) -> str:
        """The condition; empty: none."""
        return self.filter.text if self._chosen else ""

    @property
    def behind(self) -> int:
        """Events that were not looked at yet, or else calls."""
        return (self._chosen.events.behind or self._chosen.behind) if self._chosen else 0

    @property
    def counts(self) -> tuple[int, int]:
        """How many calls are shown, and how many there are."""
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
        """Take the calls that pass by now; True: they are others."""
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
        """Show the newest of what is chosen now by latency; what has none stands at the end."""
        from events.search.sorted_rows import MOST
        from widgets.events.event_rows import EventColumn

        self.unsort()
        shown = [self._row(row) for row in range(max(self.first, self.next - MOST), self.next)]
        numbers = self.every.calls.numbers(shown[0], shown[-1] + 1) if shown else None
        took = numbers.took.tolist() if numbers else []
        paired = numbers.paired.tolist() if numbers else []
        timed = [row for row in shown if paired[row - shown[0]]]
        timed.sort(key=lambda row: took[row - shown[0]], reverse=descending)
        marks = numbers.marks.tolist() if numbers else []
        self._ordered = [*timed, *(row for row in shown if not (paired[row - shown[0]] or marks[row - shown[0]]))]
        self.order = EventColumn(LATENCY), descending

    def unsort(self) -> None:
        """In the order of time again, with what comes."""
        self._ordered, self.order = None, None

    def tick(self, budget: float) -> bool:
        """Pair what came and choose among it; True: there is more to do."""
        self.every.tick(budget)
        if self._chosen:
            self._chosen.events.tick(budget)
            self._chosen.tick(budget)
        return self.every.calls.behind > 0 or self.behind > 0

    def names_changed(self) -> bool:
        """Tasks have names now; True: that changes what is chosen, from the oldest call on."""
        self.filter.names_changed(self._watching)
        if not self._take():
            return False
        return self._ordered is None  # what was put in order is of one moment

    def call(self, row: int) -> CallText:
        """What is shown of a row. Raises IndexError where it was dropped."""
        return self.every.call(self._row(row))

    def records(self, row: int) -> tuple[Record | None, Record | None]:
        """Entry and exit of a row; None: not seen, or dropped. Raises IndexError where the row was dropped."""
        return self.every.records(self._row(row))

    def loss(self, row: int) -> Loss | None:
        """Return the lost events that a row stands for; None: it is another. Raises IndexError as `records`."""
        return self.every.loss(self._row(row))

    def place(self, row: int) -> int | None:
        """Number of a row's call among all; None: there is none."""
        return self._row(row) if self.first <= row < self.next else None

    def row_from(self, place: int) -> int:
        """The first row whose call has no smaller number among all."""
        return self._chosen.at(place) if self._chosen else place

    def ts(self, row: int) -> int:
        """Nanoseconds of a call's last event, of the newest call where that was dropped; 0: there is none."""
        for one in (row, self.next - 1):
            with contextlib.suppress(IndexError):
                return self._store.row(self._last(one)).ts
        return 0

    def row_at(self, ts: int) -> int | None:
        """The first row from which on calls with a later end follow; None: all ended before, or they are by latency.

        Rows are in the order in which calls were known to be over: an end without an entry stands a little later.
        """
        if self._ordered is not None:
            return None
        numbers = self.every.calls.numbers(self.every.first, self.every.next)
        later = numbers.last >= self._store.at_time(ts)
        if self._chosen:
            return self._chosen.first_of(later, self.every.first)
        return self.every.first + int(later.argmax()) if later.any() else None

    def _last(self, row: int) -> int:
        """Sequence number of a call's last event. Raises IndexError where there is no such row."""
        call = self.every.calls.call(self._row(row))
        return max(one for one in (call.entry, call.exit, -1) if one is not None)

    def find(self, text: str, start: int, direction: int, budget: float) -> SearchStep:
        """One bounded step of a search for a text among what is shown."""
        if self._chosen is None and self._ordered is None:
            return self.every.find(text, start, direction, budget)
        deadline = time.monotonic() + budget
        row = max(start, self.first) if direction > 0 else min(start, self.next - 1)
        while self.first <= row < self.next:
            one = self._row(row)
            if self.every.find(text, one, direction, 0.0).seq == one:
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
