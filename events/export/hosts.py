"""Events of several hosts in one file: each with its host, and when it was by one clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from events.decode import Value
from events.export.source import CommonField, Source
from events.format import EventFormat
from events.record import Record

HEADS = (
    CommonField("host", str),
    CommonField("time", int),
    CommonField("uncertainty", int),
    CommonField("late", bool),
)
_OF_RECORD = tuple(one.name for one in fields(Record))


@dataclass(frozen=True)
class HostRecord(Record):
    """An event, with where it was."""

    host: str = ""
    time: int = 0
    """Nanoseconds since 1970, on our clock."""
    uncertainty: int | None = None
    """Nanoseconds by which `time` may be off against other hosts'; None: not known."""
    late: bool = False
    """Younger events were given before."""
    passes: bool = True
    """Whether it passes the filter, for formats that have whole calls."""
    source: Source = field(default_factory=Source, repr=False, compare=False)
    """What is known of that host's events."""


def host_record(
    record: Record,
    *,
    host: str,
    time: int,
    uncertainty: int | None,
    late: bool,
    source: Source,
    passes: bool = True,
) -> HostRecord:
    """The event of one host's store as one of several; see `HostRecord`."""
    own = {name: getattr(record, name) for name in _OF_RECORD}
    return HostRecord(**own, host=host, time=time, uncertainty=uncertainty, late=late, passes=passes, source=source)


def passes(record: Record) -> bool:
    """Whether an event of a host passes the filter, as it was found out when it got its row."""
    return not isinstance(record, HostRecord) or record.passes


@dataclass(frozen=True)
class HostsSource(Source):
    """What is known of events of several hosts: of each its own host says it."""

    by_format: Mapping[int, Source] = field(default_factory=dict, repr=False, compare=False)
    """By the identity of a format: two hosts may have events of one name, and other fields."""

    def fields(self, fmt: EventFormat) -> tuple[str, ...]:
        known = self.by_format.get(id(fmt))
        return super().fields(fmt) if known is None else known.fields(fmt)

    def own(self, record: Record) -> Source:
        return record.source if isinstance(record, HostRecord) else self

    def head(self, record: Record) -> Mapping[str, Value]:
        if not isinstance(record, HostRecord):
            return {}
        return {"host": record.host, "time": record.time, "uncertainty": record.uncertainty, "late": record.late}


def hosts_source(sources: Sequence[Source]) -> HostsSource:
    """Of these hosts, as far as their events are known by now: columns are made of their fields."""
    return HostsSource(
        formats=tuple(fmt for source in sources for fmt in source.formats),
        title=" and ".join(source.title for source in sources),
        cuts=any(source.cuts for source in sources),
        stacks=any(source.stacks for source in sources),
        heads=HEADS,
        time=lambda record: record.time if isinstance(record, HostRecord) else record.ts,
        by_format={id(fmt): source for source in sources for fmt in source.formats},
    )
