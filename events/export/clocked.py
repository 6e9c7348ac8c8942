"""Events of one host in one file, each with the time of day at which it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from events.decode import Value
from events.export.source import CommonField, Source
from events.record import Record

if TYPE_CHECKING:
    from events.clocks.clock_offset import ClockOffset

HEADS = (CommonField("time", int), CommonField("uncertainty", int))
"""Nanoseconds since 1970, and those by which that may be off."""


def _unknown(record: Record) -> ClockOffset | None:  # noqa: ARG001 - as `TimedSource.offset` is called
    return None


@dataclass(frozen=True)
class TimedSource(Source):
    """What is known of events, times of day with it."""

    offset: Callable[[Record], ClockOffset | None] = field(default=_unknown, repr=False, compare=False)
    """What to add to the time stamp of an event for nanoseconds since 1970; None: not known."""

    def head(self, record: Record) -> Mapping[str, Value]:
        offset = self.offset(record)
        return {} if offset is None else {"time": record.ts + offset.ns, "uncertainty": offset.uncertainty}


def timed(source: Source, offset: Callable[[Record], ClockOffset | None]) -> TimedSource:
    """Return a source with times of day."""
    known = {one.name: getattr(source, one.name) for one in fields(Source)}
    return TimedSource(**{**known, "heads": HEADS}, offset=offset)
