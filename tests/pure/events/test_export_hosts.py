"""Events of several hosts in one file, read back by json, csv, pyarrow and Perfetto's own classes."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pyarrow.parquet
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

from events.calls.call_values import EndRole
from events.export.catalogue import FORMATS, format_named
from events.export.formats.csv_table import HEADS as OF_TRACE
from events.export.formats.otlp import LogEncoder
from events.export.hosts import HEADS, HostRecord, host_record, hosts_source
from events.export.job import writer_of
from events.export.source import ExportSource, ProbeNote
from events.record import Record
from tests.json_reader import read_line
from tests.pure.events.test_export_calls import slices
from tests.pure.export_events import format_of, record_of

OLD = format_of({"size": "u32", "sp": "u64", "host": "string"}, "pw_1/ev", 2000)
NEW = format_of({"size": "s64", "mode": "u64"}, "pw_1/ev", 2000)
"""Of one name, as two kernels have it: in the older one `sp` only tells calls apart."""
ONE = ExportSource({OLD.path: ProbeNote("ev", frame="sp")}, (OLD,), title="ssh://one")
TWO = ExportSource({NEW.path: ProbeNote("ev")}, (NEW,), title="ssh://two")
ALL = hosts_source([ONE, TWO])
BASE = 1_795_349_466_893_464_620


def of(
    host: str, record: Record, time: int, source: ExportSource, *, late: bool = False, sure: int | None = 41
) -> HostRecord:
    return host_record(record, host=host, time=time, uncertainty=sure, late=late, source=source)


ROWS = [
    of("one", record_of({"size": 7, "sp": 9, "host": b"=1+1"}, fmt=OLD, ts=100), BASE, ONE),
    of("two", record_of({"size": -7, "mode": 2**64 - 1}, fmt=NEW, ts=10**15), BASE + 1, TWO, sure=None),
    of("one", record_of({"size": 8, "sp": 9, "host": None}, fmt=OLD, ts=101), BASE - 1, ONE, late=True),
]


def written(form: str, source: ExportSource, records: list[HostRecord]) -> bytes:
    out = io.BytesIO()
    found = format_named(form)
    assert found is not None
    writer = writer_of(found, source, out)
    for record in records:
        writer.take(record)
    writer.finish()
    assert writer.notes == ()
    return out.getvalue()


def test_json_lines_say_the_host_first():
    found = [read_line(line) for line in written("jsonl", ALL, ROWS).splitlines()]
    assert [list(one)[:3] for one in found] == [
        ["host", "time", "uncertainty"],
        ["host", "time", "ts"],
        ["host", "time", "uncertainty"],
    ]
    assert [(one["host"], one["time"], one["ts"], one.get("late")) for one in found] == [
        ("one", BASE, 100, None),
        ("two", BASE + 1, 10**15, None),
        ("one", BASE - 1, 101, True),
    ]
    assert found[1]["values"] == {"size": -7, "mode": 2**64 - 1}


def test_csv_has_a_column_of_hosts_and_the_fields_of_all_kernels():
    heads, *rows = csv.reader(io.StringIO(written("csv", ALL, ROWS).decode(), newline=""))
    assert heads == [*(head.name for head in HEADS), *OF_TRACE, "size", "host_", "mode"], "and no `sp`"
    assert [row[:5] for row in rows] == [
        ["one", str(BASE), "41", "false", "100"],
        ["two", str(BASE + 1), "", "false", str(10**15)],
        ["one", str(BASE - 1), "41", "true", "101"],
    ]
    assert [row[9:] for row in rows] == [["7", "'=1+1", ""], ["-7", "", str(2**64 - 1)], ["8", "", ""]]


def test_parquet_has_typed_columns_of_them():
    table = pyarrow.parquet.read_table(io.BytesIO(written("parquet", ALL, ROWS)))
    assert [str(table.schema.field(head.name).type) for head in HEADS] == ["string", "int64", "int64", "bool"]
    assert table.schema.field("time").metadata == {b"unit": b"ns"}
    assert str(table.schema.field("size").type) == "int64", "which holds u32 of the one and s64 of the other"
    found = table.to_pylist()
    assert [tuple(one[head.name] for head in HEADS) for one in found] == [
        ("one", BASE, 41, False),
        ("two", BASE + 1, None, False),
        ("one", BASE - 1, 41, True),
    ]
    assert [(one["size"], one["host_"], one["mode"]) for one in found] == [
        (7, "=1+1", None),
        (-7, None, 2**64 - 1),
        (8, None, None),
    ]


def test_one_host_has_no_such_columns():
    assert written("csv", ONE, ROWS[:1]).startswith(b'"ts","cpu"')
    assert next(iter(json.loads(written("jsonl", ONE, ROWS[:1])))) == "ts"


ENTRY = format_of({"sp": "u64", "n": "u64"}, "g/f_entry", 10)
EXIT = format_of({"sp": "u64", "ret": "s64"}, "g/f_exit", 20)


def calls(title: str) -> ExportSource:
    ends = {ENTRY.path: EndRole(0, False, "sp", 0, ()), EXIT.path: EndRole(0, True, "sp", 0, ())}
    return ExportSource({path: ProbeNote("f", frame="sp") for path in ends}, (ENTRY, EXIT), ends, title=title)


def test_perfetto_names_hosts_and_pairs_no_call_of_one_with_that_of_another():
    """One task number and one stack pointer on both, one call inside the other by our clock."""
    one, two = calls("ssh://one"), calls("ssh://two")
    enter = record_of({"sp": 2**63 + 16, "n": 1}, fmt=ENTRY, seq=0, ts=1000, pid=7)
    leave = record_of({"sp": 2**63 + 16, "ret": 0}, fmt=EXIT, seq=1, ts=2000, pid=7)
    records = [
        of("one", enter, BASE, one),
        of("two", replace(enter, ts=5), BASE + 10, two),
        of("one", leave, BASE + 20, one),
        of("two", replace(leave, ts=25), BASE + 30, two),
    ]
    trace: Any = perfetto_trace_pb2.Trace.FromString(written("perfetto", hosts_source([one, two]), records))
    assert slices(trace) == {("f", BASE, BASE + 20), ("f", BASE + 10, BASE + 30)}
    tracks = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
    hosts = {uuid: track.name for uuid, track in tracks.items() if not track.parent_uuid}
    assert sorted(hosts.values()) == ["one: ssh://one", "two: ssh://two"]
    tasks = {tracks[p.track_event.track_uuid].parent_uuid for p in trace.packet if p.HasField("track_event")}
    assert tasks == set(hosts)
    assert {p.trusted_packet_sequence_id for p in trace.packet} == {1, 2}


@pytest.mark.parametrize("form", [form for form in FORMATS if form.of_events], ids=lambda form: form.name)
def test_who_has_no_place_for_a_host_says_why(form):
    assert bool(form.one_host) == (form.name in ("text", "folded"))


@pytest.mark.parametrize(
    ("paths", "name"),
    [
        (("pw_169_8p/read__entry", "pw_136_a9/read__entry"), "read__entry"),
        (("synthetic/pw_179_g5__slow_open", "synthetic/pw_11_g6__slow_open"), "slow_open"),
        (("sched/sched_switch", "sched/sched_switch"), "sched/sched_switch"),
    ],
)
def test_an_event_has_one_name_on_all_hosts(paths, name):
    formats = [format_of({"size": "u32"}, path, 2000) for path in paths]
    sources = [ExportSource({fmt.path: ProbeNote()}, (fmt,)) for fmt in formats]
    rows = [
        of(host, record_of({"size": 7}, fmt=fmt), BASE, source)
        for host, fmt, source in zip(("one", "two"), formats, sources, strict=True)
    ]
    every = hosts_source(sources)
    lines = [json.loads(line) for line in written("jsonl", every, rows).splitlines()]
    cells = list(csv.DictReader(io.StringIO(written("csv", every, rows).decode())))
    table = pyarrow.parquet.read_table(io.BytesIO(written("parquet", every, rows))).to_pylist()
    for found in (lines, cells, table):
        assert [(one["host"], one["event"]) for one in found] == [("one", name), ("two", name)]
    logs = [json.loads(LogEncoder(row.source, {}).record(row, None, 1)) for row in rows]
    assert [one["eventName"] for one in logs] == [name.rpartition("/")[2]] * 2
    heads = [{one["key"]: one["value"] for one in log["attributes"]} for log in logs]
    assert [one["probewright.event"]["stringValue"] for one in heads] == [name] * 2
