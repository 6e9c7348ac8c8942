"""The events of several hosts as one table shows them; no screen."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Final, cast

from events.search.search import SearchStep, search_rows
from events.store.outage_mark import task_text
from tui.filter.filter import Filter, PassCount
from tui.present.event_times import wall_clock
from tui.present.status import detail_of, fields_of
from tui.present.value_text import ValueStyle
from tui.present.watched_events import kinds_of
from widgets.events.column_choice import is_mixed
from widgets.events.event_rows import FIXED, EventColumn, EventRows
from widgets.events.values import DetailField

if TYPE_CHECKING:
    from kernel.hosts.fleet import Fleet
    from kernel.hosts.merged_events import MergedEvent
    from kernel.watch.watch import Watch
    from tui.hosts.filtered_rows import FilteredHostRows

_STORES: Final = 1 << 10
"""Stores of hosts of which it is kept which events pass."""
_COLUMNS = (EventColumn("time"), EventColumn("host"), *FIXED[1:])


def _own(field: str) -> str:
    """Return the column of a field; one with the name of a column of all events gets an underscore, as in files."""
    return f"{field}_" if field in ("time", "host") else field


class HostRows:
    """A `widgets.lists.table_rows.ItemSource` of all hosts."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._events = fleet.events
        self.filter = Filter(stores=_STORES)
        self._chosen: FilteredHostRows | None = None

    @property
    def watches(self) -> list[Watch]:
        """Watches of all hosts that were opened."""
        return [host.watch for host in self._fleet.hosts if host.watch is not None]

    def preview(self, text: str) -> FilteredHostRows:
        """Return the events that would pass a condition. Raises ConditionError."""
        from tui.hosts.filtered_rows import FilteredHostRows

        self.filter.check(text, self.watches)
        return FilteredHostRows(self._events, self.filter.with_text(text))

    def choose(self, text: str) -> None:
        """Show only what passes a condition; everything where it is empty. Raises ConditionError."""
        self._chosen = self.preview(text) if text.strip() else None
        self.filter.choose(text, None)

    def tick(self, budget: float) -> bool:
        """Look at what came, for so many seconds; True: there is more to do."""
        if self._chosen is None:
            return False
        self._chosen.tick(budget)
        return self._chosen.backlog > 0

    def names_changed(self) -> bool:
        """Choose rows anew by new task names; return True if other rows are shown, from the oldest on."""
        return self._chosen is not None and self._chosen.names_changed()

    @property
    def backlog(self) -> int:
        """Events that the filter was not asked about yet."""
        return self._chosen.backlog if self._chosen else 0

    def place(self, row: int) -> int | None:
        """Return the number of a row's event in the merged list; None: there is no such row."""
        with contextlib.suppress(IndexError):
            return (
                (row if self._chosen is None else self._chosen.number(row)) if self.first <= row < self.next else None
            )
        return None

    def row_from(self, number: int) -> int:
        """Return the first row whose event has at least a number."""
        return number if self._chosen is None else self._chosen.at(number)

    @property
    def filtered(self) -> PassCount:
        """Number of events that pass, and of all."""
        every = self._events.next_seq - self._events.first_seq
        return PassCount(self.next - self.first, every, backlog=self.backlog)

    @property
    def first(self) -> int:
        return self._events.first_seq if self._chosen is None else self._chosen.first

    @property
    def next(self) -> int:
        return self._events.next_seq if self._chosen is None else self._chosen.next

    def item(self, row: int) -> MergedEvent:
        """Return the event of a row. Raises IndexError where it was dropped."""
        return self._events.record(row if self._chosen is None else self._chosen.number(row))

    def find(self, text: str, start: int, direction: int = 1, budget: float = 0.01) -> SearchStep:
        """Search what is seen: the host's name, too."""
        wanted, events = text.lower(), self._events
        if self._chosen is None:
            return events.find(lambda event: wanted in self._line(event).lower(), start, direction, budget)

        def has(number: int) -> bool:
            return wanted in self._line(events.record(number)).lower()

        return search_rows(self._chosen, has, start, direction, budget)

    def fields(self) -> tuple[str, ...]:
        """Return the names of all recorded fields, of all hosts."""
        return tuple(dict.fromkeys(name for watch in self.watches for name in fields_of(watch)))

    def rows(self, fields: tuple[str, ...]) -> EventRows:
        """Return the rows of the table; where kinds of events are mixed, fields stand as one text in each row."""
        named = [_own(field) for field in fields]
        kinds = chain.from_iterable(kinds_of(watch.event_fields.plans, fields).values() for watch in self.watches)
        columns = () if is_mixed(tuple(kinds)) else map(EventColumn, named)
        return EventRows(self, [*_COLUMNS, *columns], self.cells, fields=named)

    def cells(self, event: object) -> Mapping[str, str]:
        """Return the text of each column."""
        one = cast("MergedEvent", event)  # `item` gives no others
        late = " (late)" if one.late else ""
        values = {_own(name): text for name, text in self._values(one).values(one.record)}
        return {**values, "time": wall_clock(one.ts), "host": f"{one.host}{late}"}

    def detail(self, row: int) -> tuple[str, tuple[DetailField, ...]]:
        """Title and fields of a row. Raises IndexError where it was dropped."""
        one = self.item(row)
        title = f"{one.host}  {wall_clock(one.ts)}  {one.event} of {task_text(one.comm, one.pid, one.event)}"
        return title, detail_of(self._events.watch(one.source), one.record)

    def _line(self, event: MergedEvent) -> str:
        return f"{wall_clock(event.ts)} {event.host} {self._values(event).text(event.record)}"

    def _values(self, event: MergedEvent) -> ValueStyle:
        return ValueStyle(self._events.watch(event.source).event_fields)
