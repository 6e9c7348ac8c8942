"""Rows of a table: all items of one kind, those that pass the filter, or these sorted by a column.

Apart from what the items are (`Items`: events, calls), so that a new kind of row needs only its items.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from events.search.search import RowSelection, SearchStep, search_rows

if TYPE_CHECKING:
    from events.conditions.field_kinds import ValueKind
    from events.conditions.named_number import NumberSource
    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from tui.filter.filter import Filter
    from widgets.events.event_rows import EventColumn

Item = TypeVar("Item")
Item_co = TypeVar("Item_co", covariant=True)


class Items(RowSelection, Protocol[Item_co]):
    """All items of one kind: each has a number that neither filter nor order changes. As a selection of them all its
    rows are these numbers; its backlog is the events that items are not made of yet.
    """

    def passing(self, events: FilteredRows) -> RowSelection:
        """Return the items that pass, by the events that pass."""

    def item(self, number: int) -> Item_co:
        """Return an item. Raises IndexError if it was dropped."""

    def ts(self, number: int) -> int:
        """Return the nanoseconds of an item. Raises IndexError if there is no such item."""

    def sort(self, numbers: Sequence[int], column: EventColumn, descending: bool) -> list[int]:
        """Return the numbers of items, given in order of time, sorted by a column."""

    def matcher(self, text: str) -> Callable[[int], bool]:
        """Return a test whether the item of a number contains a text; it raises IndexError if that was dropped."""

    def find(self, text: str, rows: RowSelection, start: int, direction: int, budget: float) -> SearchStep:
        """Search rows in order of time for a text for at most `budget` seconds."""


Kind = TypeVar("Kind", bound="Items[object]", covariant=True)


class FilteredTable(Generic[Kind]):
    """Items of a watch's store as rows; a `widgets.lists.table_rows.ItemSource`."""

    def __init__(self, watch: Watch, store: Store, items: Kind, chosen: Filter) -> None:
        self.items = items
        self.store = store
        self.filter = chosen
        self.order: tuple[EventColumn, bool] | None = None
        """Column that the rows are sorted by, and True for the largest first; None: in order of time."""
        self._sorted: list[int] | None = None
        """Numbers of the items in order, as of one moment; None: in order of time."""
        self._watch = watch
        self._events: FilteredRows | None = None
        self._passing: RowSelection | None = None
        self._filter_again()

    def _filter_again(self) -> bool:
        """Take the events that pass; return True if they are other ones."""
        events = self.filter.of(self._watch, self.store)
        if events is self._events:
            return False
        self._events, self._passing = events, self.items.passing(events) if events else None
        return True

    @property
    def _by_time(self) -> RowSelection:
        return self._passing or self.items

    @property
    def first(self) -> int:
        """Oldest row."""
        return self._by_time.first if self._sorted is None else 0

    @property
    def next(self) -> int:
        """Number of the next row."""
        return self._by_time.next if self._sorted is None else len(self._sorted)

    def number(self, row: int) -> int:
        """Return the number of a row's item. Raises IndexError if there is no such row."""
        if self._sorted is None:
            return self._by_time.number(row)
        if row < 0:
            raise IndexError(row)
        return self._sorted[row]

    def item(self: FilteredTable[Items[Item]], row: int) -> Item:
        """Return the item of a row. Raises IndexError if it was dropped."""
        return self.items.item(self.number(row))

    @property
    def sorts(self) -> Mapping[str, ValueKind]:
        """Kind of value of each field, by name."""
        return self.filter.sorts(self._watch)

    @property
    def numbers(self) -> NumberSource:
        """Names of the numbers of the fields."""
        from tui.present.watched_events import WatchedNumbers

        return WatchedNumbers(self._watch)

    @property
    def filter_text(self) -> str:
        """Condition of the filter; empty: none."""
        return self.filter.text if self._passing else ""

    @property
    def backlog(self) -> int:
        """Number of events, or else items, not yet checked."""
        return self._passing.backlog if self._passing else 0

    @property
    def counts(self) -> tuple[int, int]:
        """Number of items shown, and number of all items."""
        marks = self._by_time.marks if self._sorted is None else 0
        return self.next - self.first - marks, self.items.next - self.items.first - self.items.marks

    def choose(self, text: str) -> None:
        """Set the filter; empty: none. Raises ConditionError."""
        self.filter.choose(text, self._watch)
        self.sync()

    def sync(self) -> bool:
        """Update the items that pass; return True if the rows changed."""
        changed = self._filter_again()
        if changed:
            self.unsort()
        return changed

    def names_changed(self) -> bool:
        """Filter again with new names of tasks; return True if that changes the rows from the oldest on."""
        self.filter.names_changed(self._watch)
        return self._filter_again() and self._sorted is None  # sorted rows are of one moment

    def sort(self, column: EventColumn, descending: bool) -> None:
        """Sort the newest of the items that pass now by a column."""
        from events.search.sorted_rows import MAX_SORTED_ROWS

        rows = self._by_time
        numbers = [rows.number(row) for row in range(max(rows.first, rows.next - MAX_SORTED_ROWS), rows.next)]
        self._sorted, self.order = self.items.sort(numbers, column, descending), (column, descending)

    def unsort(self) -> None:
        """Restore the order of time, with new items."""
        self._sorted, self.order = None, None

    def tick(self, budget: float) -> bool:
        """Process new events for about `budget` seconds; return True if more remain."""
        self.items.tick(budget)
        if self._passing:
            self._passing.tick(budget)
        return self.items.backlog > 0 or self.backlog > 0

    def ts(self, row: int) -> int:
        """Return the nanoseconds of a row; of the newest item if it was dropped; 0: there is none."""
        with contextlib.suppress(IndexError):
            return self.items.ts(self.number(row))
        with contextlib.suppress(IndexError):
            return self.items.ts(self.items.next - 1)
        return 0

    def place(self, row: int) -> int | None:
        """Return the number of a row's item; None: there is no such row."""
        with contextlib.suppress(IndexError):
            return self.number(row) if self.first <= row < self.next else None
        return None

    def row_of(self, number: int) -> int | None:
        """Return the row of an item; None: it is hidden or dropped."""
        if self._sorted is not None:
            is_shown = number >= self.items.first and number in self._sorted
            return self._sorted.index(number) if is_shown else None
        rows = self._by_time
        row = rows.at(number)
        return row if rows.first <= row < rows.next and rows.number(row) == number else None

    def row_from(self, number: int) -> int:
        """Return the first row, in order of time, whose item has at least a number."""
        return self._by_time.at(number)

    def row_at(self, ts: int) -> int | None:
        """Return the first row that is not older than a time in nanoseconds; None: all are older, or rows are not in
        order of time.
        """
        if self._sorted is not None:
            return None
        row = self._by_time.at_time(ts)
        return row if row < self._by_time.next else None

    def find(self, text: str, start: int, direction: int = 1, budget: float = 0.01) -> SearchStep:
        """Search for a text as it is shown for at most `budget` seconds."""
        if self._sorted is None:
            return self.items.find(text, self._by_time, start, direction, budget)
        return search_rows(self, self.items.matcher(text), start, direction, budget)
