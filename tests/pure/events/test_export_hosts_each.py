"""A file of several hosts has what a file of each alone has: the same events in order of time, with their host."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow.parquet
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

from events.export.catalogue import FORMATS, format_named
from events.export.filtered import ExportFilter
from events.export.formats.csv_table import column_names
from events.export.hosts import HEADS, HostRecord, host_record, hosts_source, passes
from events.export.job import writer_of
from events.export.source import ExportSource
from events.record import Record
from kernel.watch.watch import Watch
from tests.export_recordings import recording
from tests.json_reader import read_line
from tests.replays import replay_of
from tui.cli.follow.filter import export_filter_of
from tui.filter.filter import Filter
from tui.output.event_source import load_symbols, source_of_rows

KINDS = {"web1": "calls", "web2": "cut", "db": "graph-overrun"}
"""Kind of recording by the name of the host that gives its events; the graph is a third of one."""
OFFSETS = {"web1": 10**18, "web2": 10**18 + 5 * 10**9, "db": 10**18 - 3 * 10**9}
"""Nanoseconds since 1970 at which each host's clock began."""
MERGED = [form.name for form in FORMATS if form.of_events and not form.one_host]
TEXTS = ("", "comm == cat")


@pytest.fixture(scope="module")
def watches(tmp_path_factory) -> Iterator[dict[str, Watch]]:
    made = {}
    for host, kind in KINDS.items():
        made[host] = replay_of(recording(kind, tmp_path_factory.mktemp(host)))
        for name in MERGED:
            form = format_named(name)
            assert form is not None
            load_symbols(made[host], form)
    yield made
    for watch in made.values():
        watch.close()


def records_of(watch: Watch) -> list[Record]:
    assert watch.store is not None
    return [watch.store.record(seq) for seq in range(watch.store.first_seq, watch.store.next_seq)]


def written(name: str, source: ExportSource, records: list[Any], passing: ExportFilter) -> bytes:
    form = format_named(name)
    assert form is not None
    out = io.BytesIO()
    writer = writer_of(form, replace(source, passes=passing.passes), out)
    for record in records:
        if passing.gives(record):
            writer.take(record)
    writer.finish()
    return out.getvalue()


def filter_on(watch: Watch, text: str, *, pairs: bool) -> ExportFilter:
    chosen = Filter()
    chosen.choose(text, watch)
    return export_filter_of(watch, chosen, pairs=pairs)


def merged(watches: dict[str, Watch], name: str, text: str) -> tuple[bytes, list[HostRecord]]:
    """Write all in order of time."""
    form = format_named(name)
    assert form is not None
    rows: list[HostRecord] = []
    sources = {host: source_of_rows(watch) for host, watch in watches.items()}
    for host, watch in watches.items():
        holds = filter_on(watch, text, pairs=False).passes
        for record in records_of(watch):
            time, holding = record.ts + OFFSETS[host], holds is None or holds(record)
            rows.append(
                host_record(
                    record,
                    host=host,
                    time=time,
                    uncertainty=5,
                    late=False,
                    source=sources[host],
                    passes=holding,
                )
            )
    rows.sort(key=lambda row: row.time)
    passing = ExportFilter(passes if text else None, pairs=form.whole_calls)
    data = written(name, hosts_source([*sources.values()]), rows, passing)
    return data, [row for row in rows if row.passes]


def alone(watch: Watch, name: str, text: str) -> bytes:
    form = format_named(name)
    assert form is not None
    return written(name, source_of_rows(watch), records_of(watch), filter_on(watch, text, pairs=form.whole_calls))


def _json(data: bytes) -> list[dict[str, Any]]:
    return [read_line(line) for line in data.splitlines()]


def _csv(data: bytes) -> list[dict[str, Any]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def _parquet(data: bytes) -> list[dict[str, Any]]:
    return list(pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist())


READERS = {"jsonl": _json, "csv": _csv, "parquet": _parquet}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", READERS)
def test_rows_of_a_host_are_those_of_its_own_file(watches, name, text):
    data, rows = merged(watches, name, text)
    every = READERS[name](data)
    assert [str(one["time"]) for one in every] == [str(row.time) for row in rows], "in order of time"
    assert [one["host"] for one in every] == [row.host for row in rows]
    heads = {head.name for head in HEADS}
    assert len({one["host"] for one in every}) == len(KINDS) or text
    for host, watch in watches.items():
        own = READERS[name](alone(watch, name, text))
        mine = [
            {key: value for key, value in one.items() if key not in heads} for one in every if one["host"] == host
        ]
        if name == "jsonl":
            assert mine == own
            continue
        assert len(mine) == len(own) > 0
        for one, other in zip(mine, own, strict=True):  # the others' columns are empty
            assert {key: value for key, value in one.items() if value not in ("", None)} == {
                key: value for key, value in other.items() if value not in ("", None)
            }


def test_no_field_of_these_hosts_is_called_as_a_head(watches):
    """Else it would have another name in a file of all, and be missed above."""
    heads = [head.name for head in HEADS]
    for watch in watches.values():
        source = source_of_rows(watch)
        fields = [name for fmt in source.formats for name in source.fields(fmt)]
        assert column_names(dict.fromkeys(fields), heads) == [*dict.fromkeys(fields)]


def _marks(data: bytes) -> dict[str, list[Any]]:
    """Slices and marks of a trace, each with its values, by the name of the track above its task's.

    A lost connection has no time here: among other hosts' events it ends where its host's go on.
    """
    trace: Any = perfetto_trace_pb2.Trace.FromString(data)
    tracks = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}

    def top(uuid: int) -> str:
        while (parent := tracks[uuid].parent_uuid) and parent in tracks:
            uuid = parent
        return str(tracks[uuid].name)

    found: dict[str, list[Any]] = {}
    for packet in trace.packet:
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        values = [one.SerializeToString() for one in event.debug_annotations]
        task = tracks[event.track_uuid].name
        about: Any = (
            0 if task == "line" else packet.timestamp,
            event.type,
            task,
            event.name,
            tuple(event.categories),
            *values,
        )
        found.setdefault(top(event.track_uuid), []).append(about)
    return found


@pytest.mark.parametrize("text", TEXTS)
def test_slices_of_a_host_are_those_of_its_own_trace(watches, text):
    data, _ = merged(watches, "perfetto", text)
    every = _marks(data)
    assert len(every) == len(KINDS)
    for host, watch in watches.items():
        (own,) = _marks(alone(watch, "perfetto", text)).values()
        (mine,) = (events for track, events in every.items() if track.startswith(f"{host}: "))
        assert [(ts and ts - OFFSETS[host], *rest) for ts, *rest in mine] == own
        assert mine


def test_formats_that_hold_hosts_are_all_compared():
    assert {*MERGED} == {*READERS, "perfetto"}
