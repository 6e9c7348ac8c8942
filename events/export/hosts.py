"""Combine events of several hosts in one export: each with its host, and its time by one clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from events.decode import Value
from events.export.source import CommonField, ExportSource
from events.format import EventFormat
from events.record import Record

HEADS = (
    CommonField("host", str),
    CommonField("time", int),
    CommonField("uncertainty", int),
    CommonField("late", bool),
)
_RECORD_FIELDS = tuple(one.name for one in fields(Record))


@dataclass(frozen=True)
class HostRecord(Record):
    """Event with its host."""

    host: str = ""
    time: int = 0
    """Nanoseconds since 1970, on the local clock."""
    uncertainty: int | None = None
    """Nanoseconds by which `time` may be off relative to other hosts; None: unknown."""
    late: bool = False
    """True if later events were exported before this one."""
    passes: bool = True
    """True if the event passes the filter; for formats that have whole calls."""
    source: ExportSource = field(default_factory=ExportSource, repr=False, compare=False)
    """Source of that host's events."""


def host_record(
    record: Record,
    *,
    host: str,
    time: int,
    uncertainty: int | None,
    late: bool,
    source: ExportSource,
    passes: bool = True,
) -> HostRecord:
    """Return an event of one host's store as one of several hosts; see `HostRecord`."""
    own = {name: getattr(record, name) for name in _RECORD_FIELDS}
    return HostRecord(**own, host=host, time=time, uncertainty=uncertainty, late=late, passes=passes, source=source)


def passes(record: Record) -> bool:
    """Return whether an event passes the filter, as determined when the event got its row."""
    return not isinstance(record, HostRecord) or record.passes


@dataclass(frozen=True)
class HostsSource(ExportSource):
    """Source of events of several hosts, each described by its own host's source."""

    by_format: Mapping[int, ExportSource] = field(default_factory=dict, repr=False, compare=False)
    """Sources by the identity of a format: two hosts may have events of one name with different fields."""

    def fields(self, fmt: EventFormat) -> tuple[str, ...]:
        host_source = self.by_format.get(id(fmt))
        return super().fields(fmt) if host_source is None else host_source.fields(fmt)

    def own(self, record: Record) -> ExportSource:
        return record.source if isinstance(record, HostRecord) else self

    def head(self, record: Record) -> Mapping[str, Value]:
        if not isinstance(record, HostRecord):
            return {}
        return {"host": record.host, "time": record.time, "uncertainty": record.uncertainty, "late": record.late}


def hosts_source(sources: Sequence[ExportSource]) -> HostsSource:
    """Return the source for these hosts, with the formats known so far: columns are made of their fields."""
    by_format = {id(fmt): source for source in sources for fmt in source.formats}
    return HostsSource(
        formats=tuple(fmt for source in sources for fmt in source.formats),
        title=" and ".join(source.title for source in sources),
        has_outages=any(source.has_outages for source in sources),
        stacks=any(source.stacks for source in sources),
        heads=HEADS,
        time=lambda record: record.time if isinstance(record, HostRecord) else record.ts,
        named_fields=lambda fmt: by_format[id(fmt)].named_fields(fmt),
        by_format=by_format,
    )
