"""An event's stack in every format: with the event, never as another one, without the tracer's own frames."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pyarrow.parquet
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

from events.export.catalogue import EVENT_FORMATS, format_named
from events.export.formats.json_lines import json_object
from events.export.formats.otlp import LogEncoder
from events.export.job import writer_of
from events.export.source import ExportSource
from events.names.kallsyms import Symbols
from events.stacks.stack import NO_EVENT
from tests.pure.events.test_export_calls import STACK, stack_record
from tests.pure.export_events import record_of

SYMBOLS = Symbols(b"1000 T ksys_read\n2000 T vfs_read\n3000 T kprobe_ftrace_handler\n4000 T end_of_it\n")
PLAIN = record_of({"n": 1}, seq=0)
EVENT = replace(record_of({"n": 2}, seq=1), stacks=(stack_record([0x3004, 0x77, 0x2009, 0x1001]),))
ALONE = replace(stack_record([0x2009]), seq=2)
ALL = (PLAIN, EVENT, ALONE)
TEXTS = ["vfs_read+0x9/0x1000", "ksys_read+0x1/0x1000"]
assert EVENT.format is not None
SOURCE = ExportSource(formats=(EVENT.format, STACK), symbols=lambda _: SYMBOLS, stacks=True)


def written(name: str) -> bytes:
    form = format_named(name)
    assert form is not None
    out = io.BytesIO()
    writer = writer_of(form, SOURCE, out)
    for record in ALL:
        writer.take(record)
    writer.finish()
    assert not [note for note in writer.notes if name != "folded"]
    return out.getvalue()


def test_every_format_is_looked_at():
    assert set(EVENT_FORMATS) == {"jsonl", "csv", "parquet", "perfetto", "folded", "text"}


def test_json_has_whole_addresses_and_symbols():
    plain, event, alone = (json.loads(line) for line in written("jsonl").splitlines())
    assert "stack" not in plain and "user_stack" not in event
    assert event["stack"] == [
        {"address": "0x2009", "symbol": TEXTS[0]},
        {"address": "0x1001", "symbol": TEXTS[1]},
    ]
    assert (event["values"], event["text"]) == ({"n": 2}, {})
    assert (alone["event"], alone["values"]) == ("ftrace/kernel_stack", {"note": NO_EVENT})
    assert [frame["symbol"] for frame in alone["stack"]] == TEXTS[:1]
    assert json_object(ExportSource(), EVENT)["stack"] == [
        {"address": hex(address)} for address in (0x3004, 0x77, 0x2009, 0x1001)
    ]
    large = replace(EVENT, stacks=(stack_record([(1 << 64) - 2]),))
    assert json_object(ExportSource(), large)["stack"] == [{"address": "0xfffffffffffffffe"}]


def test_tables_have_a_column_of_stacks():
    rows = list(csv.DictReader(io.StringIO(written("csv").decode())))
    assert list(rows[0]) == ["ts", "cpu", "pid", "comm", "event", "n", "stack"]
    assert [row["stack"] for row in rows] == ["", ";".join(TEXTS), TEXTS[0]]
    table = pyarrow.parquet.read_table(io.BytesIO(written("parquet")))
    assert table.column_names == list(rows[0])
    assert table.column("stack").to_pylist() == [None, TEXTS, TEXTS[:1]]


@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_a_field_of_that_name_has_a_column_of_its_own(name):
    named = record_of({"stack": 5, "stack_": 6}, seq=0)
    event = replace(named, stacks=EVENT.stacks)
    form, out = format_named(name), io.BytesIO()
    assert form is not None and named.format is not None
    writer = writer_of(form, replace(SOURCE, formats=(named.format, STACK)), out)
    for record in (named, event):
        writer.take(record)
    writer.finish()
    if name == "csv":
        rows = list(csv.DictReader(io.StringIO(out.getvalue().decode(), newline="")))
    else:
        rows = pyarrow.parquet.read_table(io.BytesIO(out.getvalue())).to_pylist()
    assert [(str(row["stack__"]), str(row["stack_"])) for row in rows] == [("5", "6")] * 2
    assert [row["stack"] or None for row in rows] == [None, ";".join(TEXTS) if name == "csv" else TEXTS]


def test_a_mark_and_a_log_record_have_the_stack():
    trace = perfetto_trace_pb2.Trace()
    trace.ParseFromString(written("perfetto"))
    marks = [packet.track_event for packet in trace.packet if packet.HasField("track_event")]
    found = [
        [part.string_value for part in note.array_values]
        for mark in marks
        for note in mark.debug_annotations
        if note.name == "stack"
    ]
    assert (len(marks), found) == (3, [TEXTS, TEXTS[:1]])
    log = json.loads(LogEncoder(SOURCE, {}).record(EVENT, None, 1))
    (stack,) = (one["value"]["arrayValue"] for one in log["attributes"] if one["key"] == "stack")
    assert [value["stringValue"] for value in stack["values"]] == TEXTS


def test_text_and_folded_stacks_have_it_behind_the_event():
    lines = written("text").decode().splitlines()
    assert [line.rpartition(": ")[2] if ": " in line else line for line in lines] == [
        "n=1", "n=2", "<stack trace>", " => vfs_read", " => ksys_read", "<stack trace>", " => vfs_read",
    ]  # fmt: skip
    assert written("folded").decode().splitlines() == ["head;ksys_read;vfs_read 1", "sh;vfs_read 1"]


@pytest.mark.parametrize("name", ["jsonl", "text"])
def test_frames_of_the_tracer_are_nowhere(name):
    assert b"kprobe_ftrace_handler" not in written(name)
