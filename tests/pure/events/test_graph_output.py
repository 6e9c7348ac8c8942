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

from hypothesis import example, given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.export.catalogue import format_named
from events.export.job import Job, writer_of
from events.export.source import ExportSource
from events.format import EventFormat, parse_format
from events.graph.begin_end_columns import RowKind
from events.graph.tree import CallRow, CallRowFlag
from events.store.store import Store
from events.subbuffer import MISSED_EVENTS
from tests.events_data import entry, event, page
from tests.json_reader import read_line
from tests.pure.events.test_calls import HEADER
from tests.pure.events.test_graph_order import _FIELDS as GRAPH_FIELDS
from tests.pure.events.test_graph_order import TRACED
from tui.cli.follow.graph_printer import ReturnedCalls
from tui.views.graph.model import GraphModel
from widgets.number_format import duration

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


MEASURED = """\
\tfield:unsigned long long calltime;\toffset:24;\tsize:8;\tsigned:0;
\tfield:unsigned long long rettime;\toffset:32;\tsize:8;\tsigned:0;

print fmt:"""
SWITCH, ENTERS, LEAVES = 20, 21, 22
FORMATS = {
    **TRACED,
    11: parse_format(
        GRAPH_FIELDS.format(name="funcgraph_exit", number=11).replace("\nprint fmt:", MEASURED), "ftrace"
    ),
    SWITCH: _format(SWITCH, "sched/sched_switch", "pid_t next_pid"),
    ENTERS: _format(ENTERS, "irq/softirq_entry", "unsigned int vec"),
    LEAVES: _format(LEAVES, "irq/softirq_exit", "unsigned int vec"),
}
DOING = st.sampled_from(["call"] * 4 + ["leave"] * 4 + ["softirq", "switch"])
RARELY = st.integers(0, 29).map(lambda number: number == 29)
STEP = st.tuples(st.sampled_from([0, 5, 6]), DOING, st.sampled_from([0, 1, 10, 1000]), RARELY, RARELY)
STEPS = st.integers(0, 60).flatmap(lambda size: st.lists(STEP, min_size=size, max_size=size))
"""Task, what it does, time until then, whether it is missed, whether events were overwritten before it."""


def _played(steps: list[tuple[int, str, int, bool, bool]]) -> Iterator[tuple[int, bytes, bool]]:
    """Give time stamp and record of well nested calls and softirqs, and whether events were lost before it."""
    stacks: dict[int, list[tuple[int, int, int]]] = {}
    ts = 10
    for number, (task, doing, after, missed, lost) in enumerate(steps):
        ts += after
        stack = stacks.setdefault(task, [])
        depth = sum(kind == 10 for kind, *_ in stack)
        if doing == "switch":
            made = SWITCH, (5 + number % 2).to_bytes(4, "little")
        elif doing == "leave" and stack:
            kind, function, begun = stack.pop()
            measured = bytes(4) + begun.to_bytes(8, "little") + (ts - (ts > begun)).to_bytes(8, "little")
            made = (11, _call(function, depth - 1) + measured) if kind == 10 else (LEAVES, bytes(4))
        elif doing == "softirq":
            stack.append((ENTERS, 0, ts))
            made = ENTERS, bytes(4)
        else:
            stack.append((10, number % 3, ts))
            made = 10, _call(number % 3, depth)
        if not missed:
            yield ts, entry(made[0], task, made[1]), lost


def _seen_whole(steps: list[tuple[int, str, int, bool, bool]]) -> Counter[tuple[int, int]]:
    """Return begins and lengths of the calls of which neither end was missed."""
    stacks: dict[int, list[tuple[str, int, bool]]] = {}
    found: Counter[tuple[int, int]] = Counter()
    ts = 10
    for task, doing, after, missed, _ in steps:
        ts += after
        stack = stacks.setdefault(task, [])
        if doing == "leave" and stack:
            kind, begun, seen = stack.pop()
            found[begun, ts - begun] += kind != "softirq" and seen and not missed
        elif doing != "switch":
            stack.append((doing, ts, not missed))
    return found


def _call(function: int, depth: int) -> bytes:
    return (0xFFFF0000 + function).to_bytes(8, "little") + depth.to_bytes(4, "little")


def _shown(steps: list[tuple[int, str, int, bool, bool]]) -> GraphModel:
    store = Store(Decoder(dict(FORMATS), HEADER))
    for ts, record, lost in _played(steps):
        made = page(ts, event(record, 0), HEADER, MISSED_EVENTS if lost else 0)
        store.feed(Batch((Chunk(0, made),), drained=True))
    store.flush()
    watching: Any = SimpleNamespace(event_fields=SimpleNamespace(plans=(), values=lambda *_, **__: []), store=store)
    names: Any = SimpleNamespace(
        function=lambda number: f"f{number & 15}",
        softirq=str,
        returned=lambda *_: ("", False),
        arguments=lambda *_: "",
        enters_interrupt=lambda _: False,
    )
    names.of = lambda _: names
    shown = GraphModel(watching, store, names)
    while shown.tick(1.0, True)[0]:
        pass
    return shown


def _printed(shown: GraphModel, *, as_json: bool) -> list[str]:
    out = io.StringIO()
    wanted = argparse.Namespace(functions=[], count=None, seconds=None, json=as_json, slower=0)
    with contextlib.redirect_stdout(out):
        ReturnedCalls(shown.lines._watch, shown, wanted, lambda _: None).tick()
    return out.getvalue().splitlines()


def _on_screen(shown: GraphModel) -> list[CallRow]:
    """Rows of the screen that are in a call, or an interrupt, that is over."""
    rows, root = [], {}
    for row in map(shown.row, range(shown.first, shown.next)):
        if row.level == 0:
            root[row.task] = row
        if not root[row.task].flags & CallRowFlag.OPEN and root[row.task].kind <= RowKind.SOFTIRQ:
            rows.append(row)
    return rows


@given(STEPS)
@settings(max_examples=80, deadline=None)
def test_text_and_json_are_the_rows_of_the_screen(steps) -> None:
    shown = _shown(steps)
    wanted = _on_screen(shown)
    lines = [(row, shown.line(row)) for row in wanted]
    told = [
        (row.ts, text.task, row.level, text.name, text.duration, row.self_time if row.self_time >= 0 else None)
        for row, text in lines
    ]
    found = [read_line(line) for line in _printed(shown, as_json=True)]  # which lets go of what it prints
    said = [(one["ts"], one["task"], one["level"], one["function"], one["duration"], one["self"]) for one in found]
    assert Counter(said) == Counter(told)
    for task in {one[1] for one in told}:
        assert [one for one in said if one[1] == task] == [one for one in told if one[1] == task]
    for line, one in zip(_printed(_shown(steps), as_json=False), found, strict=True):
        parts = re.fullmatch(r"(\S+) (.{16}) (.{8})  ( *)(.*)", line)
        assert parts is not None and float(parts[1]) == round(one["ts"] / 1e9, 6)
        took = "" if one["duration"] is None else duration(one["duration"])
        assert (parts[2].strip(), parts[3].strip(), len(parts[4])) == (one["task"], took, 2 * one["level"])
        assert one["function"] in parts[5]


def _slices(shown: GraphModel) -> Counter[tuple[int, int]]:
    """Begins and lengths of the slices of perfetto's format, which are nested."""
    found: Counter[tuple[int, int]] = Counter()
    begun: dict[int, list[int]] = {}
    last: dict[int, int] = {}
    for packet in perfetto_trace_pb2.Trace.FromString(_exported(shown, "perfetto")).packet:
        one, track = packet.track_event, packet.track_event.track_uuid
        if packet.HasField("track_event") and one.type == one.TYPE_SLICE_BEGIN:
            assert last.get(track, 0) <= packet.timestamp, "in the order of their begins"
            begun.setdefault(track, []).append(packet.timestamp)
            last[track] = packet.timestamp
        elif packet.HasField("track_event") and one.type == one.TYPE_SLICE_END:
            start = begun[track].pop()
            found[start, packet.timestamp - start] += 1
    assert not any(begun.values())
    return found


def _calls(shown: GraphModel) -> list[CallRow]:
    """Calls of the tree of which both ends were seen."""
    rows = map(shown.tree.row, range(shown.tree.first, shown.tree.next))
    return [
        row for row in rows if row.kind == RowKind.CALL and row.duration >= 0 and not row.flags & CallRowFlag.NO_ENTRY
    ]


def _stamped(shown: GraphModel) -> Counter[tuple[int, int]]:
    """Begins of the calls of the tree, and the times between their events."""
    return Counter((row.ts, shown.store.row(row.leave).ts - row.ts) for row in _calls(shown))


@given(STEPS)
@example(
    [(5, "call", 0, False, False)]
    + [(0, "call", 0, False, False)] * 3
    + [(5, "leave", 0, True, False), (5, "call", 0, False, False)]
    + [(0, "call", 0, False, False)] * 2
    + [(5, "leave", 0, False, False), (5, "call", 0, True, False)]
    + [(0, "call", 0, False, False)] * 2
    + [(5, "leave", 0, False, False)]
)  # an exit and a later entry of one depth are missed: another call of that depth is between them
@settings(max_examples=80, deadline=None)
def test_slices_and_folded_stacks_are_the_calls_of_the_tree(steps) -> None:
    shown = _shown(steps)
    # An exit and the next entry of one function and depth, both missed with nothing between, look like one call.
    assert not _slices(shown) - (_seen_whole(steps) | _stamped(shown)), "a slice was a call, or is one of the tree"
    shown = _shown([(*step[:3], False, False) for step in steps])
    assert _slices(shown) == _stamped(shown)
    calls = {row.row: row for row in _calls(shown)}
    inside: Counter[int] = Counter()
    for row in calls.values():
        around = row.parent
        while around >= 0 and around not in calls:
            around = shown.tree.row(around).parent
        inside[around] += row.duration
    folded = [int(line.rpartition(b" ")[2]) for line in _exported(shown, "folded").splitlines()]
    assert sum(folded) == sum(max(row.duration - inside[row.row], 0) for row in calls.values())


def _exported(shown: GraphModel, name: str) -> bytes:
    form, out = format_named(name), io.BytesIO()
    assert form is not None
    source = ExportSource(formats=tuple(FORMATS.values()), loss_spans_at=shown.store.loss_spans.at)
    job = Job(shown.store, writer_of(form, source, out))
    while not job.step():
        pass
    return out.getvalue()
