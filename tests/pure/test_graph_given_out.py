"""A graph that is given out says what its tree says, in text, JSON and files: each row, in the order of time."""

from __future__ import annotations

import argparse
import contextlib
import io
import re
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.export.formats import format_named
from events.export.job import Job, writer_of
from events.export.source import Source
from events.format import EventFormat, parse_format
from events.graph.brackets import What
from events.graph.tree import Flag, Row
from events.store import Store
from events.subbuffer import MISSED_EVENTS
from tests.events_data import entry, event, page
from tests.json_reader import read_line
from tests.pure.test_events_calls import HEADER
from tests.pure.test_graph_order import FEW, TRACED
from tui.cli.graph import _Printer
from tui.graph import ShownGraph
from widgets.figures import duration

_FIELDS = """name: {name}
ID: {number}
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:{field};\toffset:8;\tsize:4;\tsigned:0;

print fmt: ""
"""


def _format(number: int, name: str, field: str) -> EventFormat:
    system, _, name = name.partition("/")
    return parse_format(_FIELDS.format(name=name, number=number, field=field), system)


SWITCH, ENTERS, LEAVES = 20, 21, 22
FORMATS = {
    **TRACED,
    SWITCH: _format(SWITCH, "sched/sched_switch", "pid_t next_pid"),
    ENTERS: _format(ENTERS, "irq/softirq_entry", "unsigned int vec"),
    LEAVES: _format(LEAVES, "irq/softirq_exit", "unsigned int vec"),
}
DOING = st.sampled_from(["call"] * 4 + ["leave"] * 4 + ["softirq", "switch"])
STEPS = st.lists(
    st.tuples(st.sampled_from([0, 5, 6]), DOING, st.sampled_from([0, 1, 10, 1000]), FEW, FEW), max_size=60
)
"""Task, what it does, time until then, whether it is missed, whether events were overwritten before it."""


def _played(steps: list[tuple[int, str, int, bool, bool]]) -> Iterator[tuple[int, bytes, bool]]:
    """Give time stamp and record of well nested calls and softirqs, and whether events were lost before it."""
    stacks: dict[int, list[tuple[int, int]]] = {}
    ts = 10
    for number, (task, doing, after, missed, lost) in enumerate(steps):
        ts += after
        stack = stacks.setdefault(task, [])
        depth = sum(kind == TRACED[10].id for kind, _ in stack)
        if doing == "switch":
            made = SWITCH, (5 + number % 2).to_bytes(4, "little")
        elif doing == "leave" and stack:
            kind, function = stack.pop()
            call = kind == TRACED[10].id
            made = (11, _call(function, depth - 1)) if call else (LEAVES, function.to_bytes(4, "little"))
        elif doing == "softirq":
            stack.append((ENTERS, 1))
            made = ENTERS, (1).to_bytes(4, "little")
        else:
            stack.append((10, number % 3))
            made = 10, _call(number % 3, depth)
        if not missed:
            yield ts, entry(made[0], task, made[1]), lost


def _call(function: int, depth: int) -> bytes:
    return (0xFFFF0000 + function).to_bytes(8, "little") + depth.to_bytes(4, "little")


def _shown(steps: list[tuple[int, str, int, bool, bool]]) -> ShownGraph:
    store = Store(Decoder(dict(FORMATS), HEADER))
    for ts, record, lost in _played(steps):
        made = page(ts, event(record, 0), HEADER, MISSED_EVENTS if lost else 0)
        store.feed(Batch((Chunk(0, made),), drained=True))
    store.flush()
    watching: Any = SimpleNamespace(known=SimpleNamespace(plans=(), values=lambda _: []), store=store)
    names: Any = SimpleNamespace(
        function=lambda number: f"f{number & 15}",
        softirq=str,
        returned=lambda *_: ("", False),
        arguments=lambda *_: "",
        enters_interrupt=lambda _: False,
    )
    shown = ShownGraph(watching, store, names)
    while shown.tick(1.0, True)[0]:
        pass
    return shown


def _printed(shown: ShownGraph, *, as_json: bool) -> list[str]:
    out = io.StringIO()
    wanted = argparse.Namespace(functions=[], count=None, seconds=None, json=as_json, slower=0)
    with contextlib.redirect_stdout(out):
        _Printer(shown.lines._watching, shown, wanted, lambda _: None).tick()
    return out.getvalue().splitlines()


def _on_screen(shown: ShownGraph) -> list[Row]:
    """Rows of the screen that are in a call, or an interrupt, that is over."""
    rows, root = [], {}
    for row in map(shown.row, range(shown.first, shown.next)):
        if row.level == 0:
            root[row.task] = row
        if not root[row.task].flags & Flag.OPEN and root[row.task].what <= What.SOFTIRQ:
            rows.append(row)
    return rows


@given(STEPS)
@settings(max_examples=200, deadline=None)
def test_text_and_json_are_the_rows_of_the_screen(steps) -> None:
    shown = _shown(steps)
    wanted = _on_screen(shown)
    found = [read_line(line) for line in _printed(shown, as_json=True)]
    said = [(one["ts"], one["task"], one["level"], one["function"], one["duration"], one["self"]) for one in found]
    lines = [(row, shown.line(row)) for row in wanted]
    told = [
        (row.ts, text.task, row.level, text.name, text.took, row.own if row.own >= 0 else None) for row, text in lines
    ]
    assert Counter(said) == Counter(told)
    for task in {one[1] for one in told}:
        assert [one for one in said if one[1] == task] == [one for one in told if one[1] == task]
    for line, one in zip(_printed(shown, as_json=False), found, strict=True):
        parts = re.fullmatch(r"(\S+) (.{16}) (.{8})  ( *)(.*)", line)
        assert parts is not None and float(parts[1]) == round(one["ts"] / 1e9, 6)
        took = "" if one["duration"] is None else duration(one["duration"])
        assert (parts[2].strip(), parts[3].strip(), len(parts[4])) == (one["task"], took, 2 * one["level"])
        assert one["function"] in parts[5]


@given(STEPS)
@settings(max_examples=200, deadline=None)
def test_slices_and_folded_stacks_are_the_calls_of_the_tree(steps) -> None:
    shown = _shown(steps)
    tree = shown.tree
    rows = [row for row in map(tree.row, range(tree.first, tree.next)) if row.what == What.CALL]
    calls = {row.row: row for row in rows if row.duration >= 0 and not row.flags & Flag.NO_ENTRY}
    slices: Counter[tuple[int, int, int]] = Counter()
    begun: dict[int, list[int]] = {}
    last: dict[int, int] = {}
    for packet in perfetto_trace_pb2.Trace.FromString(_exported(shown, "perfetto")).packet:
        one = packet.track_event
        if not packet.HasField("track_event") or one.type not in (one.TYPE_SLICE_BEGIN, one.TYPE_SLICE_END):
            continue
        if one.type == one.TYPE_SLICE_BEGIN:
            assert last.get(one.track_uuid, 0) <= packet.timestamp, "in the order of their begins"
            begun.setdefault(one.track_uuid, []).append(packet.timestamp)
            last[one.track_uuid] = packet.timestamp
        else:
            start = begun[one.track_uuid].pop()
            slices[one.track_uuid, start, packet.timestamp - start] += 1
    assert not any(begun.values())
    assert Counter((start, took) for _, start, took in slices.elements()) == Counter(
        (row.ts, row.duration) for row in calls.values()
    )
    folded = [int(line.rpartition(b" ")[2]) for line in _exported(shown, "folded").splitlines()]
    inside: Counter[int] = Counter()
    for row in calls.values():
        around = row.parent
        while around >= 0 and around not in calls:
            around = tree.row(around).parent
        inside[around] += row.duration
    assert sum(folded) == sum(row.duration - inside[row.row] for row in calls.values())


def _exported(shown: ShownGraph, name: str) -> bytes:
    form, out = format_named(name), io.BytesIO()
    assert form is not None
    source = Source(formats=tuple(FORMATS.values()), lost_between=shown.store.lost_between)
    job = Job(shown.store, writer_of(form, source, out))
    while not job.step():
        pass
    return out.getvalue()
