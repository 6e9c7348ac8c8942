"""One filter chooses the same events in all views, in exports and on the command line, and their calls."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.conditions.comparison import LATENCY
from events.conditions.condition import COMMON_FIELDS
from events.conditions.condition_parser import ConditionError, parse_condition
from events.conditions.field_kinds import ValueKind
from events.export.catalogue import EVENT_FORMATS, format_named
from events.export.filtered import ExportFilter
from events.export.job import Job, writer_of
from events.format import EventFormat, Field, FieldKind
from events.graph.live_tree import LiveTree
from events.graph.tree import CallRowFlag
from events.names.kallsyms import Symbols
from events.summary.summary import Summary
from kernel.connection.open_target import shipped_recording
from kernel.connection.planner import Planner
from kernel.watch.watch import Watch
from tests.pattern_recording import pattern_recording
from tests.trimmed_recordings import graph_recording
from tui.__main__ import main
from tui.cli.console.output import connect
from tui.filter.completion import CandidateValue, complete_filter, values_seen
from tui.filter.filter import Filter
from tui.output.event_source import source_of_rows
from tui.present.call_ends import ends_of
from tui.present.watched_events import WatchedNumbers, function_source
from tui.views.calls.model import call_table
from tui.views.events.model import event_table
from tui.views.graph.hot_spots import HotSpots
from tui.views.graph.model import GraphModel
from tui.views.graph.names import GraphNames

HERE = str(shipped_recording())
FIXED = [
    "comm == cat",
    "errno == ENOENT || dfd < 0 && errno == 0",
    "latency > 100us",
    "dfd < 0 && ret > 2",
    "count > 1024 || ret < 0",
    "!(event ~ *exit)",
    "pid == 1",
    "time >= 20 && time < 21.5",
    "latency > 100us && TIME < 25.500000001",
]


@functools.cache
def recording():
    """(watch, store, records, pairs as (entry, exit, nanoseconds))."""
    watch = Watch(Planner(connect(HERE)))
    watch.begin()
    while not watch.ended:
        watch.tick()
    store = watch.store
    calls = call_table(watch, store)
    while calls.tick(60):
        pass
    numbers = calls.items.calls.numbers(calls.first, calls.next)
    pairs = [pair[:3] for pair in zip(*(column.tolist() for column in numbers), strict=True) if pair[3]]
    return watch, store, [store.record(seq) for seq in range(len(store))], pairs


@functools.cache
def comparisons() -> list[str]:
    """Comparisons with values that events have, of every field."""
    _, _, records, pairs = recording()
    found = [f"latency {sign} {pairs[n][2]}ns" for sign in ("<", ">=") for n in range(0, len(pairs), 40)]
    for record in records[::37]:
        found += [f"comm == {record.comm}", f"pid != {record.pid}", f"cpu == {record.cpu}"]
        found.append(f"event == {record.event.rpartition('/')[2]}")
        found += [f"func {sign} {function_source(recording()[0])(record.event)}" for sign in ("==", "!=")]
        numbers = {name: int(value) for name, value in record.values.items() if isinstance(value, int)}
        named = [(name, value) for name, value in numbers.items() if name in Filter().sorts(recording()[0])]
        found += [f"{name} {sign} {value}" for name, value in named for sign in ("==", "<", ">=", "!=", "&")]
    return sorted(set(found))


@st.composite
def filters(draw) -> str:
    parts = draw(st.lists(st.sampled_from(comparisons()), min_size=1, max_size=3))
    parts = [f"!({part})" if draw(st.booleans()) and draw(st.booleans()) else part for part in parts]
    text = parts[0]
    for part in parts[1:]:
        text = f"({text}) {draw(st.sampled_from(('&&', '||')))} {part}"
    return text


def wanted_events(text: str) -> set[int]:
    """By each record alone, then by the values of both ends: one at a time, no columns."""
    watch, store, records, pairs = recording()
    sources = {
        "symbols": watch.info.symbols.loaded_of,
        "function_of": function_source(watch),
        "numbers": WatchedNumbers(watch),
    }
    wanted = parse_condition(text, Filter().sorts(watch), store.task_names.name, **sources)
    found: set[int] = {record.seq for record in records if wanted(record)}
    if LATENCY not in wanted.fields and len(wanted.fields - COMMON_FIELDS.keys()) < 2:
        return found
    for entry, leave, took in pairs:
        if entry not in found and leave not in found:
            first, last = records[entry], records[leave]
            both = SimpleNamespace(
                values={**first.values, **last.values, LATENCY: took},
                ts=last.ts, pid=last.pid, cpu=last.cpu, comm=last.comm, event=last.event,
                format=SimpleNamespace(fields=(*last.format.fields, *first.format.fields)),
            )  # fmt: skip
            if wanted.term.of_record(both):
                found.add(leave)
    return found


def written(form: str, chosen: Filter) -> bytes:
    """The dialog's export, with a filter."""
    watch, store, _, _ = recording()
    selected = chosen.of(watch, store)
    passes = None if selected is None else lambda record: selected.passes(record.seq)
    out, found = io.BytesIO(), format_named(form)
    from dataclasses import replace

    writer = writer_of(found, replace(source_of_rows(watch), passes=passes), out)
    job = Job(store, writer, ExportFilter(passes, pairs=found.whole_calls))
    while not job.step(60):
        pass
    return out.getvalue()


@given(filters())
def test_no_event_passes_a_condition_and_its_opposite(text):
    watch, store, _, _ = recording()
    found = []
    for condition in (text, f"!({text})"):
        chosen = Filter()
        chosen.choose(condition, watch)
        selected = chosen.of(watch, store)
        found.append({seq for seq in range(store.first_seq, store.next_seq) if selected.passes(seq)})
    assert not found[0] & found[1]


@given(filters())
def test_every_view_shows_the_same_events(text):
    watch, store, records, pairs = recording()
    wanted = wanted_events(text)
    chosen = Filter()
    chosen.choose(text, watch)
    events = event_table(watch, store, chosen)
    while events.tick(60):
        pass
    assert {events.item(row).seq for row in range(events.first, events.next)} == wanted
    assert events.counts == (len(wanted), len(records))
    selected = chosen.of(watch, store)
    assert {record.seq for record in records if selected.passes(record.seq)} == wanted

    summary = Summary(store, chosen=selected)
    summary.use(ends_of(watch.event_fields.plans))
    summary.tick(60)
    assert (summary.counted, summary.of) == (len(wanted), len(records))
    assert (
        sum(one.hits for one in summary.top_tasks(1000))
        == sum(summary.timeline.total(kind) for kind in summary.timeline.kinds)
        == len(wanted)
    )

    shown_pairs = [pair for pair in pairs if {pair[0], pair[1]} & wanted]
    assert summary.pairs == len(shown_pairs)
    calls = call_table(watch, store, chosen)
    while calls.tick(60):
        pass
    ends = [calls.items.calls.call(calls.number(row)) for row in range(calls.first, calls.next)]
    assert all({one.entry, one.exit} & wanted for one in ends)
    assert [(one.entry, one.exit) for one in ends if one.unpaired_reason is None] == [
        pair[:2] for pair in shown_pairs
    ]

    graph = GraphModel(watch, store, GraphNames(watch.info), chosen=selected)
    while graph.tick(60, following=True)[0]:
        pass
    rows = [graph.row(place) for place in range(graph.first, graph.next)]
    assert [{row.seq, row.leave} & wanted for row in rows if not {row.seq, row.leave} & wanted] == []
    hot = HotSpots()
    hot.ask(graph)
    hot._thread.join()
    counted = [spot.calls for spot in hot.take() or ()]
    assert sum(counted) == len(shown_pairs)

    lines = written("jsonl", chosen).decode().splitlines()
    assert [json.loads(line)["ts"] for line in lines] == [records[seq].ts for seq in sorted(wanted)]


@pytest.mark.parametrize("text", FIXED)
@pytest.mark.parametrize("form", [form for form in EVENT_FORMATS if form != "parquet"])
def test_the_command_gives_out_what_the_screen_does(tmp_path, capsys, text, form):
    watch, _, records, _ = recording()
    chosen = Filter()
    chosen.choose(text, watch)
    path = tmp_path / "x"
    status = main([HERE, "--export", f"{form}:{path}", "--filter", text])
    said = capsys.readouterr().err
    left_out = int(found[1]) if (found := re.search(r"(\d+) events? (?:is|are) left out", said)) else 0
    assert status == (left_out > 0) and (not left_out or form == "folded")
    assert path.read_bytes() == written(form, chosen)
    assert f"{len(wanted_events(text)) - left_out} of {len(records)} events" in said


def test_spans_of_a_trace_have_both_ends_where_one_passes():
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2

    _, _, _, pairs = recording()
    chosen = Filter()
    chosen.choose("ret == 4096", recording()[0])
    trace = perfetto_trace_pb2.Trace.FromString(written("perfetto", chosen))
    kinds = [packet.track_event.type for packet in trace.packet if packet.HasField("track_event")]
    shown = [pair for pair in pairs if pair[1] in wanted_events("ret == 4096")]
    assert shown and kinds.count(1) == kinds.count(2) == len(shown)
    in_pairs = {seq for pair in pairs for seq in pair[:2]}
    assert kinds.count(3) == len(wanted_events("ret == 4096") - in_pairs)


def test_what_is_no_filter_is_refused_before_anything_is_written(tmp_path, capsys):
    path = tmp_path / "x.jsonl"
    assert main([HERE, "--export", f"jsonl:{path}", "--filter", "cuont > 5"]) == 2
    assert "--filter at 1: no field cuont: did you mean count?" in capsys.readouterr().err
    assert not path.exists()
    with pytest.raises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
        main([HERE, "--filter", "count > 5"])


def test_a_condition_that_holds_of_all_but_some_tasks_is_looked_for_again_when_they_get_names(monkeypatch):
    watch, store, records, _ = recording()
    chosen = Filter()
    chosen.choose("comm == nobody", watch)
    before = chosen.of(watch, store)
    assert chosen.of(watch, store) is before, "the same until something changes"
    monkeypatch.setattr(store.task_names, "known", {**store.task_names.known, records[0].pid: "nobody"})
    chosen.names_changed(watch)
    after = chosen.of(watch, store)
    after.tick(60)
    assert after is not before and after.has(np.array([0])).all()


def test_rows_found_while_a_condition_is_typed_are_tested_again_if_names_came_before_it_was_confirmed(
    monkeypatch, tmp_path
):
    """Both what is known at once and what is looked for later: names of tasks, and symbols."""
    watch, store, records, _ = recording()
    chosen = Filter()
    typed = chosen.preview("comm == nobody", watch, store)
    typed.tick(60)
    monkeypatch.setattr(store.task_names, "known", {**store.task_names.known, records[0].pid: "nobody"})
    chosen.choose("comm == nobody", watch, typed)
    found = chosen.of(watch, store)
    found.tick(60)
    assert found.has(np.array([0])).all()
    patterns = Watch(Planner(connect(str(pattern_recording(tmp_path / "patterns.pwr")))))
    patterns.begin()
    while not patterns.ended:
        patterns.tick()
    typed = chosen.preview("func == vfs_read", patterns, patterns.store)
    typed.tick(60)
    assert typed.next == 0
    patterns.info.symbols.load()
    chosen.choose("func == vfs_read", patterns, typed)
    found = chosen.of(patterns, patterns.store)
    found.tick(60)
    assert found.next > 0
    chosen.choose("func == vfs_read", patterns, found)
    assert chosen.of(patterns, patterns.store) is found, "rows that are still right are kept"


def test_rows_are_tested_again_if_a_field_has_another_kind_in_a_later_probe(monkeypatch):
    watch, store, _, _ = recording()
    chosen = Filter()
    chosen.choose("filename ~ /*", watch)
    before = chosen.of(watch, store)
    chosen.names_changed(watch)
    assert chosen.of(watch, store) is before
    kinds = chosen.sorts(watch)
    monkeypatch.setattr("tui.filter.filter.sorts_of_fields", lambda _: {**kinds, "filename": ValueKind.SYMBOL})
    chosen.names_changed(watch)
    after = chosen.of(watch, store)
    assert after is not before
    for rows in (before, after):
        rows.tick(60)
    assert after.next == before.next > 0


def test_two_stores_have_one_filter():
    watch, store, _, _ = recording()
    chosen, later = Filter(), store.from_now_on()
    chosen.choose("count > 5", watch)
    assert chosen.of(watch, store) is not chosen.of(watch, later)
    assert chosen.of(watch, later).of == 0
    chosen.choose("", watch)
    assert chosen.of(watch, store) is None


def test_names_of_numbers_are_offered_before_a_value_was_seen():
    fmt = EventFormat(1, "g", "ev", (Field("state", "u32", 8, 4, False, FieldKind.INT, 4),))
    known = SimpleNamespace(
        plans=[],
        numbers=lambda _, field: {"GONE": -1, "BUSY": 7} if field.name == "state" else {},
        address_fields=lambda _: (),
    )
    store = SimpleNamespace(decoder=SimpleNamespace(formats={1: fmt}), next_seq=0, first_seq=0)
    found = values_seen(SimpleNamespace(event_fields=known), store, "state")
    assert found == (CandidateValue("GONE", "-1"), CandidateValue("BUSY", "7"))
    offered_ = complete_filter("state == bu", 11, {"state": ValueKind.NUMBER}, lambda _: found)
    assert [(item.text, item.description) for item in offered_.items] == [("BUSY", "7")]


def test_names_of_tasks_are_offered_though_an_event_has_a_field_comm(monkeypatch):
    watch, store, *_ = recording()
    tasks = values_seen(watch, store, "comm")
    own = EventFormat(
        65000, "signal", "signal_generate", (Field("comm", "char[16]", 8, 16, False, FieldKind.STRING, 16),)
    )
    monkeypatch.setitem(store.decoder.formats, own.id, own)
    assert len(tasks) > 3 and set(tasks) <= set(values_seen(watch, store, "comm"))


def test_places_of_probes_are_compared_by_name_and_offered(monkeypatch):
    watch, store, records, _ = recording()
    address = next(record.values["__probe_ip"] for record in records if "__probe_ip" in record.values)
    symbols = Symbols(f"{address - 16:x} T begins_before\n{address + 16:x} T comes_after\n".encode())
    monkeypatch.setattr(watch.info.symbols, "loaded_of", lambda _: symbols)
    there = {record.seq for record in records if record.values.get("__probe_ip") == address}
    assert there
    for text in ("== begins_before", "== begins_before+0x10", '~ "begins_*"', '~ "begins_*+0x10"', f"== {address}"):
        assert wanted_events(f"__probe_ip {text}") == there, text
    for text in ("== begins_before+0x4", "== comes_after", "!= begins_before+0x10"):
        assert not wanted_events(f"__probe_ip {text}"), text
    assert CandidateValue("begins_before+0x10") in values_seen(watch, store, "__probe_ip")
    monkeypatch.setattr(type(watch.info.symbols), "loaded", symbols)
    monkeypatch.setattr(watch.info.symbols, "are_read", True)
    chosen = Filter()
    for text, told in (
        ("== begins_befor", "no symbol begins_befor"),
        ("!= nosuch+0x4", "no symbol nosuch"),
        ("~ no*", ""),
    ):
        chosen.choose(f"__probe_ip {text}", watch)
        assert told in (remark := chosen.name_remark(watch)) and bool(told) == bool(remark), text
    chosen.choose("__probe_ip == begins_before+0x10", watch)
    assert not chosen.name_remark(watch)
    monkeypatch.setattr(type(watch.info.symbols), "loaded", None)
    assert "hides its symbols" in chosen.name_remark(watch)


def test_the_function_of_probes_on_one_function_is_known():
    watch, _, records, _ = recording()
    function_of = function_source(watch)
    functions = {function_of(record.event) for record in records}
    assert len(functions) > 1 and "" not in functions
    for function in functions:
        of_it = {record.seq for record in records if function_of(record.event) == function}
        assert wanted_events(f"func == {function}") == wanted_events(f"func ~ {function[:-1]}?") == of_it
        chosen = Filter()
        chosen.choose(f"func == {function}", watch)
        assert not chosen.name_remark(watch)
    chosen.choose("func == vfs_raed", watch)
    assert "did you mean vfs_read" in chosen.name_remark(watch)
    assert {value.text for value in values_seen(watch, recording()[1], "func")} <= functions
    with pytest.raises(ConditionError, match="func is a text"):
        chosen.choose("func > 5", watch)


SORTS = {"count": ValueKind.NUMBER, "ret": ValueKind.NUMBER, "name": ValueKind.TEXT, LATENCY: ValueKind.NUMBER}


def offered(text: str) -> list[str]:
    values = {
        "ret": (CandidateValue("-ENOENT", "-2"), CandidateValue("4096")),
        "comm": (CandidateValue("cat"), CandidateValue('"a b"')),
        "name": (),
    }
    found = complete_filter(text, len(text), SORTS, lambda field: values.get(field, ()))
    return [found.taken(text, item)[0] for item in found.items]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("co", ["count ", "comm ", "COMM "]),
        ("count > 5 && na", ["count > 5 && name "]),
        ("!(r", ["!(ret "]),
        ("name ", ["name == ", "name != ", "name ~ "]),
        ("comm == c", ["comm == cat"]),
        ("time ", ["time == ", "time != ", "time < ", "time <= ", "time > ", "time >= "]),
        ("comm == \"a", ['comm == "a b"']),
        ("ret == ", ["ret == -ENOENT", "ret == 4096"]),
        ("ret == -ENOT", ["ret == -ENOTBLK", "ret == -ENOTDIR"]),
        ("ret == 4096 ", ["ret == 4096 && ", "ret == 4096 || "]),
        ("ret == 4096", []),
        ("nosuch ", []),
        ("", ["count ", "ret "]),
    ],
)  # fmt: skip
def test_what_may_stand_next(text, first):
    found = offered(text)
    assert found[: len(first)] == first
    assert first or not found


@given(st.text(alphabet="count >=&|()!~\"'-E5 ", max_size=30), st.integers(0, 30))
def test_any_text_can_be_completed(text, cursor):
    found = complete_filter(
        text, min(cursor, len(text)), SORTS, lambda _: (CandidateValue("-5"), CandidateValue("'x'"))
    )
    for item in found.items:
        assert found.taken(text, item)[0].startswith(text[: found.start])


def test_values_that_were_seen_can_be_compared_with():
    watch, store, records, _ = recording()
    for field in ("comm", "event", *Filter().sorts(watch)):
        named = WatchedNumbers(watch).names(field)
        for value in values_seen(watch, store, field)[:20]:
            found = wanted_events(f"{field} == {value.text}")
            assert found or value.text in named, (field, value)  # names are offered before they are seen
    assert len(wanted_events("dfd == AT_FDCWD")) > 100 and len(wanted_events("flags & O_CREAT")) > 50
    assert {one.text.strip('"') for one in values_seen(watch, store, "comm")} >= {records[-1].comm}


# -- calls of the function_graph tracer ------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["full", "7.2"])
def traced(request, tmp_path_factory):
    """Return a watch on a recorded graph, and its tree."""
    path = graph_recording(tmp_path_factory.mktemp("graph") / "graph.pwr", request.param)
    watch = Watch(Planner(connect(str(path))))
    watch.begin()
    while not watch.ended:
        watch.tick()
    watch.store.flush()
    tree = LiveTree(watch.store, {})
    while tree.tick(1.0):
        pass
    return watch, [tree.tree.row(number) for number in range(tree.tree.first, tree.tree.next)]


def passing(watch, text: str) -> set[int]:
    """Return what passes, by columns and by single records alike."""
    chosen = Filter()
    chosen.choose(text, watch)
    selected = chosen.of(watch, watch.store)
    found = {seq for seq in range(watch.store.first_seq, watch.store.next_seq) if selected.passes(seq)}
    records = map(watch.store.record, range(watch.store.first_seq, watch.store.next_seq))
    assert found == {record.seq for record in records if selected.condition(record)}
    return found


@pytest.mark.parametrize("least", [1_000, 20_000, 300_000])
def test_a_call_of_the_tracer_has_the_latency_that_the_tree_shows(traced, least):
    watch, rows = traced
    calls = [row for row in rows if row.kind == 0 and row.leave >= 0 and row.duration >= 0]
    wanted = {row.leave for row in calls if row.duration >= least}
    told = passing(watch, f"latency >= {least}ns")
    assert told & {row.leave for row in calls} == wanted and 0 < len(wanted) < len(calls)


def test_what_a_call_of_the_tracer_returned_is_below_zero_where_it_is_an_error(traced):
    watch, rows = traced
    if not any("retval" in fmt.names for fmt in watch.store.decoder.formats.values()):
        with pytest.raises(ConditionError, match="no field retval"):
            passing(watch, "retval < 0")
        return
    failed = {row.leave for row in rows if row.kind == 0 and row.flags & CallRowFlag.FAILED}
    told = passing(watch, "retval < 0")
    assert failed and failed <= told
    names = GraphNames(watch.info)
    values = {seq: watch.store.record(seq).values["retval"] for seq in told}
    assert all(value >> 63 or value >> 31 == 1 for value in values.values())
    enoent = passing(watch, "retval == -ENOENT")
    assert enoent and enoent < told and names is not None
    assert {values[seq] & 0xFFFFFFFF for seq in enoent} == {(1 << 32) - 2}


def test_depths_of_the_tracer_are_compared_and_other_words_for_times_have_a_way_out(traced):
    watch, _ = traced
    told = passing(watch, "depth == 1")
    assert told and {watch.store.record(seq).values["depth"] for seq in told} == {1}
    with pytest.raises(ConditionError, match="no field duration: latency is the time of a call"):
        passing(watch, "duration > 10us")
