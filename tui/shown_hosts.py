"""The events of several hosts as one table shows them; no screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from events.cut_mark import task_text
from events.search import Found
from tui.host_lines import wall_clock
from tui.shown import detail_of, fields_of
from tui.shown_values import ShownValues
from widgets.event_detail import DetailField
from widgets.event_rows import FIXED, EventColumn, EventRows

if TYPE_CHECKING:
    from kernel.hosts.fleet import Fleet
    from kernel.hosts.merged import MergedEvent

_COLUMNS = (EventColumn("time"), EventColumn("host"), *FIXED[1:])


def _own(field: str) -> str:
    """The column of a field; one that is called as a column of all events gets an underscore, as in files."""
    return f"{field}_" if field in ("time", "host") else field


class ShownHosts:
    """An `widgets.event_rows.EventStore` of all hosts."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._events = fleet.events

    @property
    def first_seq(self) -> int:
        return self._events.first_seq

    @property
    def next_seq(self) -> int:
        return self._events.next_seq

    def record(self, seq: int) -> MergedEvent:
        """Raises IndexError where it was dropped."""
        return self._events.record(seq)

    def find(self, match: str, start: int, direction: int = 1, budget: float = 0.01) -> Found:
        """What is searched is what is seen: the host's name, too."""
        needle = match.lower()
        return self._events.find(lambda event: needle in self._line(event).lower(), start, direction, budget)

    def fields(self) -> tuple[str, ...]:
        """Names of all recorded fields, of all hosts."""
        watches = [host.watch for host in self._fleet.hosts if host.watch is not None]
        return tuple(dict.fromkeys(name for watch in watches for name in fields_of(watch)))

    def rows(self, fields: tuple[str, ...]) -> EventRows:
        """The table's."""
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

    def _values(self, event: MergedEvent) -> ShownValues:
        return ShownValues(self._events.watch(event.source).known)
