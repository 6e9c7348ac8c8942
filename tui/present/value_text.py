"""How values read on the screen: by their names; what a `lat:` probe measured, as times are shown elsewhere.

What is printed or given out has the number, of nanoseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from events.decode import Value
from events.format import EventFormat, Field
from events.names.number_format import NumberFormat
from events.record import Record
from events.store.outage_mark import task_text
from probes.static_events import Latency
from widgets.number_format import duration

if TYPE_CHECKING:
    from kernel.watch.event_fields import EventFields

_MEASURED: Final = "lat"
"""The field of a `lat:` probe that has the time."""
_LONGEST: Final = 1 << 63
"""A number from here on is a difference that went wrong in the kernel: it stays as it is."""


class ValueStyle:
    """An `events.search.search.LineStyle`: what is searched is what is seen."""

    def __init__(self, known: EventFields) -> None:
        self._known = known

    def measured(self, event: str, field: str) -> bool:
        """Whether a field, of an event by its path, is nanoseconds between two events."""
        plans = self._known.plans if field == _MEASURED else ()
        return any(isinstance(plan.probe, Latency) and event in (one.path for one in plan.events) for plan in plans)

    def values(self, record: Record) -> list[tuple[str, str]]:
        """Name and text of each field that somebody asked for."""
        values = self._known.values(record)
        if not self.measured(record.event, _MEASURED):
            return values
        return [(name, time_of(record.values[name]) or text if name == _MEASURED else text) for name, text in values]

    def text(self, record: Record) -> str:
        """A record as one line."""
        values = " ".join(f"{name}={value}" for name, value in self.values(record))
        return f"{task_text(record.comm, record.pid, record.event)} {record.event} {values}"

    def fields(self, fmt: EventFormat) -> Sequence[Field]:
        """What stands in that line."""
        return self._known.fields(fmt)

    def reading(self, fmt: EventFormat, field: Field) -> NumberFormat:
        """How the numbers of a field read in that line."""
        if self.measured(fmt.path, field.name):
            return NumberFormat(names=lambda value: time_of(value) or str(value))
        return self._known.reading(fmt, field)


def time_of(value: Value) -> str:
    """`2.34 ms` of nanoseconds; empty: it is no time."""
    return duration(value) if isinstance(value, int) and 0 <= value < _LONGEST else ""
