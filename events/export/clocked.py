"""Add the time of day to the events of one host in an export."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from events.decode import Value
from events.export.source import CommonField, ExportSource
from events.record import Record

if TYPE_CHECKING:
    from events.clocks.clock_offset import ClockOffset

HEADS = (CommonField("time", int), CommonField("uncertainty", int))
"""Nanoseconds since 1970, and their uncertainty in nanoseconds."""


def _unknown(record: Record) -> ClockOffset | None:  # noqa: ARG001 - as `TimedSource.offset` is called
    return None


@dataclass(frozen=True)
class TimedSource(ExportSource):
    """`ExportSource` that also gives times of day."""

    offset: Callable[[Record], ClockOffset | None] = field(default=_unknown, repr=False, compare=False)
    """Function that returns the offset from an event's time stamp to nanoseconds since 1970; None: unknown."""

    def head(self, record: Record) -> Mapping[str, Value]:
        offset = self.offset(record)
        return {} if offset is None else {"time": record.ts + offset.ns, "uncertainty": offset.uncertainty}


def with_time_of_day(source: ExportSource, offset: Callable[[Record], ClockOffset | None]) -> TimedSource:
    """Return a source with times of day."""
    values = {item.name: getattr(source, item.name) for item in fields(ExportSource)}
    return TimedSource(**{**values, "heads": HEADS}, offset=offset)
