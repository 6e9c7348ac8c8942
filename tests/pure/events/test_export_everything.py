"""Exports of every kind of recording in every format: the command line's are the screen's, and nothing vanishes."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

from events.export.catalogue import EVENT_FORMATS, format_named
from events.export.job import Job, writer_of
from events.export.source import ExportSource
from events.graph.call_ends import EndKind
from events.graph.decode import read_graph_ends
from events.graph.live_tree import LiveTree
from events.graph.record_ends import EVENTS
from events.graph.tree import CallRowFlag
from events.record import Record
from events.store.outage_mark import is_mark
from events.text import parse_line
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import open_target
from kernel.connection.planner import Planner
from kernel.watch.watch import Watch
from tests.export_recordings import KINDS, recording
from tests.json_reader import read_line
from tests.pure.export_events import format_of, record_of
from tui.__main__ import main
from tui.output.event_source import load_symbols, source_of_rows

_BEGIN, _END, _INSTANT = 1, 2, 3


class Exported(NamedTuple):
    """What a screen would write."""

    data: bytes
    taken: int
    left_out: int
    notes: tuple[str, ...]


@pytest.fixture(scope="module", params=KINDS)
def path(request, tmp_path_factory) -> Path:
    return recording(request.param, tmp_path_factory.mktemp("recordings"))


@contextlib.contextmanager
def watching(path: Path) -> Iterator[Watch]:
    """All of a recording is in the store of the watch."""
    with contextlib.closing(Watch(Planner(KernelInfo(open_target(str(path)))))) as watch:
        watch.begin()
        while not watch.ended:
            watch.tick()
        assert watch.store is not None
        watch.store.flush()
        yield watch


@pytest.fixture
def watch(path) -> Iterator[Watch]:
    with watching(path) as watch:
        yield watch


@pytest.fixture(scope="module")
def on_screen(path) -> Callable[[str], Exported]:
    """A function that gives the recording in a format; each is written once, by a watch of its own."""

    @functools.cache
    def written(name: str) -> Exported:
        with watching(path) as watch:
            form, store = format_named(name), watch.store
            assert form is not None and store is not None
            load_symbols(watch, form)
            out = io.BytesIO()
            writer = writer_of(form, source_of_rows(watch), out)
            job = Job(store, writer)
            while not job.step():
                pass
            assert job.total == len(store) == job.written + writer.omitted + job.dropped
            return Exported(out.getvalue(), len(store), writer.omitted, writer.notes)

    return written


@pytest.fixture(scope="module")
def slices(on_screen) -> list[str]:
    """Names of the calls in perfetto's format."""
    trace = perfetto_trace_pb2.Trace.FromString(on_screen("perfetto").data)
    events = [packet.track_event for packet in trace.packet if packet.HasField("track_event")]
    return [event.name for event in events if event.type == _BEGIN and list(event.categories) == ["call"]]


@pytest.mark.parametrize("name", EVENT_FORMATS)
def test_the_command_line_writes_what_the_screen_does(on_screen, path, name, tmp_path, capsys) -> None:
    wanted = on_screen(name)
    status = main([str(path), "--export", f"{name}:{tmp_path / 'x'}"])
    told = capsys.readouterr().err
    same = (tmp_path / "x").read_bytes() == wanted.data
    assert same  # by itself: to show the difference of such files takes minutes
    assert status == (1 if wanted.notes else 0)
    assert all(f"probewright: {note}\n" in told for note in wanted.notes)
    for note in wanted.notes:  # also where nothing is in the file at all
        named = re.fullmatch(r".*; ([a-z, ]+) have(?: all)?", note)
        assert named and {*named[1].split(", ")} <= {*EVENT_FORMATS} - {name}
    assert f"x: {wanted.taken - wanted.left_out:,} event" in told


def _lines(data: bytes) -> int:
    """Events of the kernel's text; a line that begins with blanks and an arrow goes on with a stack."""
    return sum(parse_line(line) is not None for line in data.decode("utf-8", "replace").splitlines())


def _in_trace(data: bytes) -> int:
    """Slices have two events, a gap that has both its times is one of a mark."""
    trace = perfetto_trace_pb2.Trace.FromString(data)
    events = [packet.track_event for packet in trace.packet if packet.HasField("track_event")]
    gaps = sum(list(event.categories) == ["gap"] and event.type == _BEGIN for event in events)
    return len(events) - gaps


HELD: dict[str, Callable[[bytes], int]] = {
    "jsonl": lambda data: len([read_line(line) for line in data.splitlines()]),
    "csv": lambda data: len(list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))) - 1,
    "parquet": lambda data: int(pyarrow.parquet.read_metadata(io.BytesIO(data)).num_rows),
    "perfetto": _in_trace,
    "text": _lines,
}
"""Events that other readers find in a file of each format; folded stacks have sums only."""


def test_every_format_but_one_can_be_counted() -> None:
    assert set(EVENT_FORMATS) - set(HELD) == {"folded"}


@pytest.mark.parametrize("name", HELD)
def test_what_was_taken_is_in_the_file_or_told(on_screen, name) -> None:
    found = on_screen(name)
    assert HELD[name](found.data) + found.left_out == found.taken
    form = format_named(name)
    assert form is not None and (form.partial or not found.left_out), "these are named by those that leave out"
    told = sum(int(number.replace(",", "")) for note in found.notes for number in re.findall(r"([\d,]+) event", note))
    assert told == found.left_out


def test_folded_calls_are_the_slices_of_perfetto(on_screen, slices) -> None:
    found = on_screen("folded")
    assert found.taken - found.left_out == 2 * len(slices)
    folded = {line.rpartition(b" ")[0].decode().split(";")[-1] for line in found.data.splitlines()}
    assert not folded ^ set(slices)


def test_slices_of_a_graph_are_the_calls_of_its_tree(watch, slices) -> None:
    """The tree is made of columns, and the slices are made of one record after the other."""
    store = watch.store
    growing = LiveTree(store, {})
    while growing.tick(1.0):
        pass
    if not growing.traced:
        return
    tree = growing.tree
    rows = [tree.row(number) for number in range(tree.first, tree.next)]
    whole = [
        row
        for row in rows
        if row.kind == 0 and not row.flags & (CallRowFlag.OPEN | CallRowFlag.NO_ENTRY | CallRowFlag.NO_EXIT)
    ]
    whole = [row for row in whole if not row.flags & CallRowFlag.LOST and row.leave >= 0]
    names = [watch.info.symbols.current.text(row.function, offset=False) for row in whole]
    assert not Counter(names) - Counter(slices) and not Counter(slices) - Counter(names)
    assert len(slices) > 1000 or len(store) < 100


def test_json_names_functions_beside_their_addresses(watch, on_screen) -> None:
    ends = read_graph_ends(watch.store, 0, watch.store.next_seq)
    rows = [read_line(line) for line in on_screen("jsonl").data.splitlines()]
    calls = [row for row in rows if row["event"] in EVENTS]
    if LiveTree(watch.store, {}).traced:
        assert len(calls) == int(((ends.kind == EndKind.ENTRY) | (ends.kind == EndKind.EXIT)).sum())
    symbols = watch.info.symbols.current
    for row in calls:
        name = symbols.text(row["values"]["func"], offset=False)
        assert row["text"]["func"].startswith(name) and not name.startswith("0x")
    assert not [row for row in rows if "…" in str(row)]
    given = {row["text"]["args"] for row in calls if "args" in row["text"]}
    assert not calls or any(re.search(r"=0xffff[0-9a-f]{12}\b", text) for text in given)
    errors = {row["text"].get("retval") for row in calls}
    assert not any("retval" in row["values"] for row in calls) or "-ENOENT" in errors


# -- what a format has no place for, made by hand -------------------------------------------------------------------

CALL = format_of({"func": "u64", "depth": "u32"}, "ftrace/funcgraph_entry", 10)
RETURN = format_of({"func": "u64", "depth": "u32"}, "ftrace/funcgraph_exit", 11)
OTHER = format_of({"n": "u64"}, "sched/other", 12)
UNKNOWN_FIELD = format_of({"n": "u64", "late": "u64"}, "sched/later", 13)
STEPS = st.lists(
    st.tuples(st.sampled_from(("call", "return", "other", "later")), st.integers(1, 2), st.integers(0, 3)),
    max_size=40,
)


def _played(steps: list[tuple[str, int, int]]) -> list[Record]:
    formats = {"call": CALL, "return": RETURN, "other": OTHER, "later": UNKNOWN_FIELD}
    records = []
    for seq, (what, task, depth) in enumerate(steps):
        fmt = formats[what]
        values = {"func": 0xFFFFFFFF81000000 + depth, "depth": depth, "n": seq, "late": seq}
        own = {field.name: values[field.name] for field in fmt.fields}
        records.append(record_of(own, fmt=fmt, seq=seq, ts=1000 + 10 * seq, pid=task))
    return records


@given(STEPS)
def test_whatever_comes_is_in_the_file_or_told(steps) -> None:
    records = _played(steps)
    source = ExportSource(formats=(CALL, RETURN, OTHER))
    for name in EVENT_FORMATS:
        form = format_named(name)
        assert form is not None
        out = io.BytesIO()
        writer = writer_of(form, source, out)
        for record in records:
            writer.take(record)
        writer.finish()
        assert not any(map(is_mark, records))
        if name in HELD:
            assert HELD[name](out.getvalue()) + writer.omitted == len(records)
        values = sum(what == "later" for what, *_ in steps) if name in ("csv", "parquet") else 0
        assert bool(writer.notes) is bool(writer.omitted or values)
        if values:  # a column for it is not there
            assert writer.notes[0].startswith(f"{2 * values if 'n' not in source.fields(OTHER) else values:,} value")
