"""Events of a store as items of a filtered table; a search finds the text that the table shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from events.conditions.condition import Condition
from events.conditions.condition_parser import ConditionError, parse_condition
from events.record import Record
from events.search.find import find
from events.search.search import SearchStep
from kernel.watch.watch import Watch
from tui.filter.filter import Filter
from tui.present.value_text import ValueStyle
from tui.present.watched_events import WatchedNumbers, function_source
from tui.views.filtered_table import FilteredTable
from widgets.events.event_rows import EventColumn, ShownEvent

if TYPE_CHECKING:
    from events.search.filtered_rows import FilteredRows
    from events.search.search import RowSelection
    from events.store.store import Store


class EventItems:
    """Events by their sequence numbers; `tui.views.filtered_table.Items` says what each method is for."""

    marks = 0
    backlog = 0

    def __init__(self, watch: Watch, store: Store, chosen: Filter) -> None:
        """Take a filter that knows the fields of conditions."""
        self._store = store
        self._watch = watch
        self._filter = chosen
        self._values = ValueStyle(watch.event_fields)

    @property
    def first(self) -> int:
        return self._store.first_seq

    @property
    def next(self) -> int:
        return self._store.next_seq

    def number(self, row: int) -> int:
        return row

    def at(self, number: int) -> int:
        return number

    def at_time(self, ts: int) -> int:
        return self._store.at_time(ts)

    def tick(self, budget: float) -> None:
        """Do nothing: an event is an item."""

    def passing(self, events: FilteredRows) -> FilteredRows:
        return events

    def item(self, number: int) -> Record:
        return self._store.record(number)

    def ts(self, number: int) -> int:
        return self._store.row(number).ts

    def cells(self, event: ShownEvent) -> Mapping[str, str]:
        """Return the texts of an event by field name."""
        return dict(self._values.values(event, at_once=True)) if isinstance(event, Record) else {}

    def owners(self, event: str) -> Mapping[str, str]:
        """Return the structures that fields of an event were read from, by field."""
        return self._watch.event_fields.owners(event)

    def sort(self, numbers: Sequence[int], column: EventColumn, descending: bool) -> list[int]:
        from events.search.sorted_rows import sort_rows

        return sort_rows(self._store, numbers, column.name, descending, own=not column.of_all)

    def matcher(self, text: str) -> Callable[[int], bool]:
        """Return a test that decodes its event: many are tested at once only in the order of the store."""
        from events.search.text_match import TextMatch

        wanted, store = self._wanted(text), self._store
        holds = (
            TextMatch(wanted, self._values, store.task_names.name, store.task_names.all_names)
            if isinstance(wanted, str)
            else wanted
        )
        return lambda number: holds(store.record(number))

    def find(self, text: str, rows: RowSelection, start: int, direction: int, budget: float) -> SearchStep:
        """Search for a text as it is shown, or for a condition: `count > 4096`."""
        wanted = self._wanted(text)
        deadline = time.monotonic() + budget
        # the next row of the search may have been dropped meanwhile
        row = max(start, rows.first) if direction > 0 else start
        while rows.first <= row < rows.next:
            left = max(0.0, deadline - time.monotonic())
            found = find(self._store, wanted, rows.number(row), direction, left, style=self._values)
            row = rows.at(found.next) if direction > 0 else rows.at(found.next + 1) - 1
            if found.seq is not None and (at := rows.at(found.seq)) < rows.next and rows.number(at) == found.seq:
                return SearchStep(at, at + direction, True)
            if time.monotonic() >= deadline:
                return SearchStep(None, row, not rows.first <= row < rows.next)
        return SearchStep(None, row, True)

    def _wanted(self, text: str) -> Condition | str:
        """Return a condition, or the text if it is none."""
        try:
            fields, store, watch = self._filter.sorts(self._watch), self._store, self._watch
            symbols, function_of, numbers = (
                watch.info.symbols.loaded_of,
                function_source(watch),
                WatchedNumbers(watch),
            )
            return parse_condition(text, fields, store.task_names.name, store.cgroups, symbols, function_of, numbers)
        except ConditionError:
            return text


def event_table(watch: Watch, store: Store, chosen: Filter | None = None) -> FilteredTable[EventItems]:
    """Return the table of the events; `chosen`: None: a new filter."""
    chosen = chosen or Filter()
    return FilteredTable(watch, store, EventItems(watch, store, chosen), chosen)
