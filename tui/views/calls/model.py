"""Calls of a store as items of a filtered table, in the order in which calls were known to have ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from events.conditions.comparison import LATENCY
from events.search.search import SearchStep, search_rows
from tui.filter.filter import Filter
from tui.views.calls.call_text import CallTexts
from tui.views.filtered_table import FilteredTable
from widgets.events.call_rows import CallText
from widgets.events.event_rows import EventColumn

if TYPE_CHECKING:
    from events.search.filtered_calls import FilteredCalls
    from events.search.filtered_rows import FilteredRows
    from events.search.search import RowSelection
    from events.store.store import Store
    from kernel.watch.watch import Watch

BY_LATENCY: Final = EventColumn(LATENCY)
"""Column that calls are sorted by."""


class CallItems:
    """Calls and marks between them by row; `tui.views.filtered_table.Items` says what each method is for."""

    def __init__(self, watch: Watch, store: Store) -> None:
        self.texts = CallTexts(watch, store)
        self.calls = self.texts.calls
        self._store = store

    @property
    def first(self) -> int:
        return self.calls.first

    @property
    def next(self) -> int:
        return self.calls.next

    @property
    def marks(self) -> int:
        return self.calls.marks_before(self.next)

    @property
    def backlog(self) -> int:
        return self.calls.backlog

    def number(self, row: int) -> int:
        return row

    def at(self, number: int) -> int:
        return number

    def at_time(self, ts: int) -> int:
        later = self.calls.ended_after(ts)
        return self.first + (int(later.argmax()) if later.any() else len(later))

    def tick(self, budget: float) -> None:
        self.texts.tick(budget)

    def passing(self, events: FilteredRows) -> FilteredCalls:
        from events.search.filtered_calls import FilteredCalls

        return FilteredCalls(self.calls, events)

    def item(self, number: int) -> CallText:
        return self.texts.call(number)

    def ts(self, number: int) -> int:
        """Return the nanoseconds of a call's last event. Raises IndexError if there is no such call."""
        call = self.calls.call(number)
        return self._store.row(max(one for one in (call.entry, call.exit, -1) if one is not None)).ts

    def sort(self, numbers: Sequence[int], column: EventColumn, descending: bool) -> list[int]:  # noqa: ARG002
        """Return the numbers by latency, the only such column; calls without one at the end, no marks."""
        if not numbers:
            return []
        start = numbers[0]
        columns = self.calls.numbers(start, numbers[-1] + 1)
        took, paired, marks = columns.durations.tolist(), columns.paired.tolist(), columns.marks.tolist()
        timed = [number for number in numbers if paired[number - start]]
        timed.sort(key=lambda number: took[number - start], reverse=descending)
        return [*timed, *(number for number in numbers if not (paired[number - start] or marks[number - start]))]

    def matcher(self, text: str) -> Callable[[int], bool]:
        wanted = text.lower()
        return lambda number: wanted in self.texts.line(number).lower()

    def find(self, text: str, rows: RowSelection, start: int, direction: int, budget: float) -> SearchStep:
        return search_rows(rows, self.matcher(text), start, direction, budget)


def call_table(watch: Watch, store: Store, chosen: Filter | None = None) -> FilteredTable[CallItems]:
    """Return the table of the calls; `chosen`: None: a new filter."""
    return FilteredTable(watch, store, CallItems(watch, store), chosen or Filter())
