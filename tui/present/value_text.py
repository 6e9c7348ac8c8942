"""Text of values on the screen: with their names; times measured by a `lat:` probe have units.

Printed and exported values are numbers of nanoseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from events.decode import Value
from events.format import EventFormat, Field
from events.names.number_names import NumberFormat
from events.record import Record
from events.store.outage_mark import task_text
from probes.sources.source import is_latency
from probes.static_events import Latency
from widgets.number_format import duration

if TYPE_CHECKING:
    from kernel.watch.event_fields import EventFields

_MEASURED: Final = "lat"
"""Field of a `lat:` probe with the measured time."""
_LONGEST: Final = 1 << 63
"""Limit from which a number is a negative difference computed in the kernel: it is shown unchanged."""


class ValueStyle:
    """`events.search.search.LineStyle` of the screen, so that a search finds the text that is shown."""

    def __init__(self, known: EventFields) -> None:
        self._known = known

    def measured(self, event: str, field: str) -> bool:
        """Tell whether a field, of an event by its path, is nanoseconds between two events."""
        plans = self._known.plans if field == _MEASURED else ()
        return any(
            (isinstance(plan.probe, Latency) or is_latency(plan.probe)) and event in (one.path for one in plan.events)
            for plan in plans
        )

    def values(self, record: Record, *, at_once: bool = False) -> list[tuple[str, str]]:
        """Return name and text of each captured field; `at_once`: see `EventFields.values`."""
        values = self._known.values(record, at_once=at_once)
        if not self.measured(record.event, _MEASURED):
            return values
        return [(name, time_of(record.values[name]) or text if name == _MEASURED else text) for name, text in values]

    def text(self, record: Record, *, at_once: bool = False) -> str:
        """Return a record as one line; `at_once`: see `EventFields.values`."""
        values = " ".join(f"{name}={value}" for name, value in self.values(record, at_once=at_once))
        return f"{task_text(record.comm, record.pid, record.event)} {record.event} {values}"

    def fields(self, fmt: EventFormat) -> Sequence[Field]:
        """Return the fields in that line."""
        return self._known.fields(fmt)

    def reading(self, fmt: EventFormat, field: Field) -> NumberFormat:
        """Return the number format of a field in that line."""
        if self.measured(fmt.path, field.name):
            return NumberFormat(names=lambda value: time_of(value) or str(value))
        return self._known.reading(fmt, field)


def time_of(value: Value) -> str:
    """Return nanoseconds as `2.34 ms`; empty: no time."""
    return duration(value) if isinstance(value, int) and 0 <= value < _LONGEST else ""
