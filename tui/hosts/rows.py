"""The events of several hosts as one table shows them; no screen."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from events.search.search import SearchStep
from events.store.outage_mark import task_text
from tui.filter.filter import Filter, PassCount
from tui.present.event_times import wall_clock
from tui.present.status import detail_of, fields_of
from tui.present.value_text import ValueStyle
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
    """An `widgets.events.event_rows.EventStore` of all hosts."""

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
        """Tasks have names now; True: other rows are shown, from the oldest on."""
        return self._chosen is not None and self._chosen.names_changed()

    @property
    def filtered(self) -> PassCount:
        """Number of events that pass, and of all."""
        every = self._events.next_seq - self._events.first_seq
        return PassCount(self.next_seq - self.first_seq, every, backlog=self._chosen.backlog if self._chosen else 0)

    @property
    def first_seq(self) -> int:
        return self._events.first_seq if self._chosen is None else self._chosen.first

    @property
    def next_seq(self) -> int:
        return self._events.next_seq if self._chosen is None else self._chosen.next

    def record(self, seq: int) -> MergedEvent:
        """Return the event of a row. Raises IndexError where it was dropped."""
        return self._events.record(seq if self._chosen is None else self._chosen.number(seq))

    def find(self, match: str, start: int, direction: int = 1, budget: float = 0.01) -> SearchStep:
        """Search what is seen: the host's name, too."""
        needle, deadline = match.lower(), time.monotonic() + budget
        if self._chosen is None:
            return self._events.find(lambda event: needle in self._line(event).lower(), start, direction, budget)
        row = max(start, self.first_seq) if direction > 0 else min(start, self.next_seq - 1)
        while self.first_seq <= row < self.next_seq:
            with contextlib.suppress(IndexError):  # its host's store had to drop it
                if needle in self._line(self.record(row)).lower():
                    return SearchStep(row, row + direction, True)
            row += direction
            if time.monotonic() >= deadline:
                return SearchStep(None, row, False)
        return SearchStep(None, row, True)

    def fields(self) -> tuple[str, ...]:
        """Names of all recorded fields, of all hosts."""
        return tuple(dict.fromkeys(name for watch in self.watches for name in fields_of(watch)))

    def rows(self, fields: tuple[str, ...]) -> EventRows:
        """Return the rows of the table."""
        return EventRows(self, [*_COLUMNS, *(EventColumn(_own(field)) for field in fields)], self.cells)

    def cells(self, event: object) -> Mapping[str, str]:
        """Text by column."""
        one = cast("MergedEvent", event)  # `record` gives no others
        late = " (late)" if one.late else ""
        values = {_own(name): text for name, text in self._values(one).values(one.record)}
        return {**values, "time": wall_clock(one.ts), "host": f"{one.host}{late}"}

    def detail(self, seq: int) -> tuple[str, tuple[DetailField, ...]]:
        """Title and fields of a row. Raises IndexError where it was dropped."""
        one = self.record(seq)
        title = f"{one.host}  {wall_clock(one.ts)}  {one.event} of {task_text(one.comm, one.pid, one.event)}"
        return title, detail_of(self._events.watch(one.source), one.record)

    def _line(self, event: MergedEvent) -> str:
        return f"{wall_clock(event.ts)} {event.host} {self._values(event).text(event.record)}"

    def _values(self, event: MergedEvent) -> ValueStyle:
        return ValueStyle(self._events.watch(event.source).event_fields)
