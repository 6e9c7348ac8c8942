"""Tables of views as they are given out: what the views show, with all digits, and what the commands print."""

from __future__ import annotations

import csv
import io
import math
from types import SimpleNamespace

import pytest

from events.export.catalogue import TABLE_FORMATS, format_named
from events.graph.record_ends import NO_RETURNS
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import open_target
from kernel.connection.planner import Planner
from kernel.guards.row_bounds import SCREEN
from kernel.watch.watch import Watch
from tests.export_recordings import recording
from tests.json_reader import read_line
from tests.pure.commands import called, command
from tests.pure.tui.test_cli_filter import HERE, PROBES
from tests.pure.tui.test_json_exact import for_people
from tests.trimmed_recordings import graph_recording
from tui.cli.args import options
from tui.cli.status import DONE, REFUSED
from tui.filter.filter import Filter
from tui.output.event_source import load_symbols
from tui.output.view_job import ViewJob
from tui.output.view_tables import NO_CALLS, NO_ENDS, OF_KERNEL, TABLES, SummaryTable
from tui.present.call_ends import ends_of
from tui.views.calls.call_text import detail_of_call, detail_of_loss
from tui.views.calls.model import BY_LATENCY, call_table

__all__ = ["command"]

TEXTS = ("", "comm == cat && latency > 1ms", "ret < 0", "comm == nobody")


VIEWS = tuple(name for name in TABLES if name not in OF_KERNEL)
"""Those of events."""


def test_the_words_for_views_are_those_of_their_tables():
    """`kernel-summary` is the summary of --hist, and the table of hosts is made of no watch."""
    assert {*TABLES, "hosts"} == {*options.VIEWS, "kernel-summary"}


@pytest.fixture(scope="module", params=["calls", "graph", "cut", "empty"])
def path(request, tmp_path_factory):
    return recording(request.param, tmp_path_factory.mktemp("views"))


def watched(path) -> Watch:
    watch = Watch(Planner(KernelInfo(open_target(str(path)))), SCREEN)
    watch.begin()
    while not watch.ended:
        watch.tick()
    assert watch.store is not None
    watch.store.flush()
    return watch


def in_steps(watch: Watch, view: str, name: str, text: str) -> tuple[bytes, str]:
    """Write a table as a dialog does, step by step."""
    form, chosen = format_named(name), Filter()
    assert form is not None and watch.store is not None
    load_symbols(watch, form)
    chosen.choose(text, watch)
    out = io.BytesIO()
    job = ViewJob(TABLES[view](watch, watch.store, chosen), form, out)
    while not job.step(0.0):
        assert 0 <= job.done <= job.total
    return out.getvalue(), job.text


@pytest.mark.parametrize("view", VIEWS)
def test_the_command_writes_what_steps_do(path, view, command, tmp_path):
    watch = watched(path)
    for name in TABLE_FORMATS:
        for text in ("", "comm == cat"):
            data, said = in_steps(watch, view, name, text)
            file = tmp_path / f"{name}{len(text)}"
            done = command(str(path), "--export", f"{name}:{file}", "--view", view, "--filter", text)
            has_no_call = view == "failures" and path.stem == "empty"
            has_no_call |= view == "calls" and not ends_of(watch.event_fields.plans)
            assert done.status == (REFUSED if has_no_call else DONE)
            same = file.read_bytes() == data
            assert same and f"{file}: {said}, " in done.err
            printed = command(str(path), "--export", name, "--view", view, "--filter", text)
            assert printed.out.encode() == data
    watch.close()


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("view", VIEWS)
def test_csv_and_json_lines_have_the_same_rows(view, text):
    watch = watched(HERE)
    rows = list(csv.DictReader(io.StringIO(in_steps(watch, view, "csv", text)[0].decode(), newline="")))
    objects = [read_line(line) for line in in_steps(watch, view, "jsonl", text)[0].splitlines()]
    assert for_people(objects) == []
    if view == "hot-spots":
        wanted = [{name: "" if value is None else str(value) for name, value in one.items()} for one in objects]
        assert rows == wanted
    elif view == "calls":
        assert [int(row["ts"]) for row in rows] == [one["ts"] for one in objects]
        for row, one in zip(rows, objects, strict=True):
            assert row["latency"] == ("" if one["latency"] is None else str(one["latency"]))
            for end, values in one["values"].items():
                assert {name: str(row[f"{end}.{name}"]) for name in values or ()} == {
                    name: str(value) for name, value in (values or {}).items()
                }
                named = {name: row.get(f"{end}.{name}.name", "") for name in values or ()}
                texts = {name: one[end][name] for name, text in named.items() if text}
                assert texts == {name: text for name, text in named.items() if text}
                assert not values or "flags" not in values or texts["dfd"] == "AT_FDCWD"
    else:
        counts = [int(row["count"]) for row in rows if row["summary"] == "rate"]
        assert counts == [count for one in objects if one["summary"] == "rate" for count in one["counts"]]
        lines = [row for row in rows if row["summary"] in ("values", "processes")]
        values = [(row["value"], int(row["count"])) for row in lines]
        for one in objects:
            if one["summary"] in ("values", "processes"):
                listed = [(str(value["value"]), value["count"]) for value in one["values"]]
                assert all(pair in values for pair in listed)
        others = [int(row["count"]) for row in rows if row["summary"].endswith(" others")]
        assert others == [one["others"] for one in objects if one.get("others")]
    watch.close()


@pytest.mark.parametrize("text", TEXTS)
def test_calls_are_those_that_run_prints(command, tmp_path, text):
    preset = tmp_path / "all.toml"
    probes = ", ".join(f"'{one}'" for one in PROBES if "%both" in one)
    preset.write_text(f'version = 1\nname = "all"\ntitle = "all"\nview = "calls"\nprobes = [{probes}]\n')
    printed = command("run", "-t", HERE, str(preset), "--json", "--filter", text)
    given = command(HERE, "--export", "jsonl", "--view", "calls", "--filter", text)
    assert given.out == printed.out
    if text:
        assert given.err == printed.err


@pytest.mark.parametrize("text", TEXTS)
def test_a_summary_is_what_run_counts(command, text):
    """All probes; `run` counts one field more, and prints fewer of its values."""
    printed = command("run", "-t", HERE, *PROBES, "--summary", "dfd", "--json", "--filter", text).objects
    given = command(HERE, "--export", "jsonl", "--view", "summary", "--filter", text).objects
    kinds = ("events", "rate", "latency")
    assert [one for one in given if one["summary"] in kinds] == [one for one in printed if one["summary"] in kinds]
    fields = {(one["event"], one["field"]): one for one in given if one["summary"] == "values"}
    for one in printed:
        if one["summary"] == "values":
            assert fields[one["event"], one["field"]] == one
    assert len(fields) > 5


# Nothing has failed in it, and no latency was measured.
@pytest.mark.parametrize("view", ["", *(view for view in VIEWS if view not in ("failures", "latencies"))])
def test_columns_say_what_was_asked_for_and_not_what_came(command, view):
    """So that files can be put together: also where nothing passes."""
    words = (HERE, "--export", "csv", *(("--view", view) if view else ()))
    whole, few, none = (command(*words, "--filter", text).out for text in ("", "comm == cat", "comm == nobody"))
    (titles,) = {text.partition("\r\n")[0] for text in (whole, few, none)}
    assert "," in titles and len(none) < len(few) < len(whole)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("kind", "message"), [("empty", NO_CALLS), ("empty-graph", NO_CALLS), ("graph-without-results", NO_RETURNS)]
)
def test_a_table_of_failures_without_calls_says_so(command, tmp_path, kind, message, form):
    """An empty table is else one of calls that all succeeded."""
    told = command(str(recording(kind, tmp_path)), "--export", form, "--view", "failures")
    assert told.status == REFUSED
    assert told.err.splitlines() == [f"probewright: {message}"]
    assert "ENOENT" not in told.out


def test_calls_that_all_succeeded_are_an_empty_table_and_no_refusal(command, tmp_path):
    told = command(str(recording("graph", tmp_path)), "--export", "jsonl", "--view", "failures")
    assert (told.status, told.out, told.err) == (DONE, "", "")


@pytest.fixture(params=["cut", "untold-cut"])
def cut(request, tmp_path_factory):
    return recording(request.param, tmp_path_factory.mktemp("cut"))


@pytest.mark.parametrize("text", ["", "comm == cat", "comm == nobody"])
def test_where_the_line_was_cut_a_row_stands_between_the_calls(cut, command, text):
    """As `run` prints it there, as the events have it, and whatever the filter: it says what is missing."""
    (mark,) = (one for one in command(str(cut), "--export", "jsonl").objects if one["event"] == "line_cut")
    lines = command(str(cut), "--export", "jsonl", "--view", "calls", "--filter", text).objects
    (place,) = (n for n, one in enumerate(lines) if one.get("event") == "line_cut")
    assert lines[place] == mark
    pairs = [(n, one["ts"]) for n, one in enumerate(lines) if one.get("latency") is not None]
    assert all((n < place) == (ts <= mark["ts"]) for n, ts in pairs), "in the order of time"
    rows = list(
        csv.DictReader(
            io.StringIO(command(str(cut), "--export", "csv", "--view", "calls", "--filter", text).out, newline="")
        )
    )
    assert [row["call"] for row in rows].index("line_cut") == place
    assert (rows[place]["seconds"], rows[place]["note"], rows[place]["comm"]) == (
        f"{mark['values']['seconds']:.3f}",
        mark["values"]["note"],
        "",
    )
    assert not any(row["seconds"] for n, row in enumerate(rows) if n != place)


@pytest.mark.parametrize("text", ["", "comm == cat", "comm == nobody"])
def test_where_the_ring_buffer_lost_events_a_row_stands_between_the_calls(command, tmp_path, text):
    lossy = recording("overrun", tmp_path)
    words = (str(lossy), "--view", "calls", "--filter", text)
    lines = command(*words, "--export", "jsonl").objects
    (place,) = (n for n, one in enumerate(lines) if one.get("event") == "events_lost")
    loss = lines[place]
    note = f"events were lost on CPU {loss['cpu']}: calls around here may be incomplete, or missing"
    assert loss["values"] == {"events": None, "note": note}, "the kernel did not say how many"
    pairs = [(n, one["ts"]) for n, one in enumerate(lines) if one.get("latency") is not None]
    assert all((n < place) == (ts < loss["ts"]) for n, ts in pairs), "in the order of time"
    rows = [*csv.DictReader(io.StringIO(command(*words, "--export", "csv").out, newline=""))]
    assert [row["call"] for row in rows].index("events_lost") == place
    found = rows[place]
    assert (found["cpu"], found["note"], found["events"], found["pid"]) == (str(loss["cpu"]), note, "", "")
    assert "seconds" not in found, "no connection was lost"
    whole = command(HERE, "--view", "calls", "--export", "csv").out
    assert "events" not in whole.splitlines()[0].split(",")


def test_calls_have_no_column_of_a_probe_of_which_none_came(command, tmp_path):
    assert command(str(recording("empty", tmp_path)), "--view", "calls", "--export", "csv").out == (
        '"ts","cpu","pid","comm","call","latency","note"\r\n'
    )
    rows = [*csv.DictReader(io.StringIO(command(HERE, "--view", "calls", "--export", "csv").out, newline=""))]
    fields = {name for one in command(HERE, "--export", "jsonl").objects for name in one["values"]}
    names = [name for name in rows[0] if name.startswith(("entry.", "exit."))]
    assert names and {name.partition(".")[2].removesuffix(".name") for name in names} <= fields


def test_the_row_of_a_loss_is_no_call(tmp_path):
    watch, chosen = watched(recording("overrun", tmp_path)), Filter()
    assert watch.store is not None
    shown = call_table(watch, watch.store, chosen)
    while shown.tick(60.0):
        pass
    every = shown.counts[1]
    (place,) = (row for row in range(shown.first, shown.next) if shown.item(row).function == "events_lost")
    assert shown.counts == (shown.next - shown.first - 1, every)
    call, loss = shown.item(place), shown.items.texts.loss(shown.number(place))
    assert loss is not None and (call.task, call.latency, call.note) == ("some lost", None, loss.text)
    assert shown.items.texts.records(shown.number(place)) == (None, None), "it is none of the events around it"
    title, fields = detail_of_loss(loss)
    assert f"events_lost on CPU {loss.cpu}" in title and [one.name for one in fields] == ["note"]
    shown.sort(BY_LATENCY, descending=True)
    assert all(shown.item(row).function != "events_lost" for row in range(shown.first, shown.next))
    assert shown.counts == (every, every)
    shown.choose("comm == nobody")
    while shown.tick(60.0):
        pass
    assert shown.counts == (0, every) and shown.next - shown.first == 1
    assert shown.item(shown.first).function == "events_lost"
    watch.close()


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_run_prints_a_loss_between_the_calls(command, tmp_path, words):
    lossy = str(recording("overrun", tmp_path))
    preset = tmp_path / "all.toml"
    probes = ", ".join(f"'{one}'" for one in PROBES if "%both" in one)
    preset.write_text(f'version = 1\nname = "all"\ntitle = "all"\nview = "calls"\nprobes = [{probes}]\n')
    printed = command("run", "-t", lossy, str(preset), *words)
    if words:
        assert printed.out == command(lossy, "--export", "jsonl", "--view", "calls").out
    else:
        (row,) = (row for row in printed.out.splitlines() if " events_lost " in row)
        assert " some lost events_lost events were lost on CPU " in row


@pytest.mark.parametrize("text", ["", "comm == cat"])
def test_the_calls_of_a_line_that_was_cut_are_those_that_run_prints(cut, command, tmp_path, text):
    preset = tmp_path / "all.toml"
    probes = ", ".join(f"'{one}'" for one in PROBES if "%both" in one)
    preset.write_text(f'version = 1\nname = "all"\ntitle = "all"\nview = "calls"\nprobes = [{probes}]\n')
    printed = command("run", "-t", str(cut), str(preset), "--json", "--filter", text)
    given = command(str(cut), "--export", "jsonl", "--view", "calls", "--filter", text)
    assert given.out == printed.out


def test_the_row_of_a_cut_is_no_call(cut, monkeypatch):
    watch, chosen = watched(cut), Filter()
    assert watch.store is not None
    shown = call_table(watch, watch.store, chosen)
    while shown.tick(60.0):
        pass
    every = shown.counts[1]
    (place,) = (row for row in range(shown.first, shown.next) if shown.item(row).function == "line_cut")
    assert shown.counts == (shown.next - shown.first - 1, every)
    assert "disconnected for " in shown.item(place).note and shown.item(place).latency is None
    assert shown.find("disconnected for", shown.first, 1, 60.0).seq == place
    title, fields = detail_of_call(watch, *shown.items.texts.records(shown.number(place)))
    assert "line_cut" in title and any(one.name == "seconds" for one in fields)
    texts = [shown.item(row) for row in range(shown.first, shown.next)]
    assert sum(call.note == "" for call in texts) == shown.items.calls.paired
    shown.sort(BY_LATENCY, descending=True)
    assert all(shown.item(row).function != "line_cut" for row in range(shown.first, shown.next))
    assert shown.counts == (every, every)
    shown.choose("comm == cat")
    while shown.tick(60.0):
        pass
    assert 0 < shown.counts[0] < every and shown.counts[0] == shown.next - shown.first - 1
    calls = shown.items.calls
    monkeypatch.setattr(calls, "_store", SimpleNamespace(first_seq=watch.store.next_seq))
    calls.drop()
    assert calls.first == calls.next and calls.marks_before(calls.next) == 0
    watch.close()


def test_hot_spots_are_the_sums_of_the_calls(command):
    calls = command(HERE, "--export", "jsonl", "--view", "calls", "--filter", "event ~ do_sys*").objects
    (spot,) = command(HERE, "--export", "jsonl", "--view", "hot-spots", "--filter", "event ~ do_sys*").objects
    took = [one["latency"] for one in calls if one["latency"] is not None]
    assert (spot["calls"], spot["total"], spot["longest"]) == (len(took), sum(took), max(took))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("--export", "perfetto"),
            "perfetto holds events; the table of a view is exported as jsonl and csv, in one",
        ),
        (("--export", "csv:x/"), "a row of files or a collector holds events"),
        (("--export", "csv", "--clock", "utc"), "a table has the kernel's own times"),
        (("--export", "csv", "--filter", "nosuch > 1"), "--filter at 1: no field nosuch"),
        ((), "--view names the table that --export writes"),
    ],
)
def test_what_has_no_table_is_told(command, words, told):
    done = command(HERE, "--view", "calls", *words)
    assert (done.status, done.out) == (2, "")
    assert told in done.err


def test_rows_of_which_no_event_is_kept_are_told(monkeypatch):
    watch = watched(HERE)
    assert watch.store is not None
    form = format_named("jsonl")
    assert form is not None
    job = ViewJob(TABLES["calls"](watch, watch.store, Filter()), form, io.BytesIO())
    assert not job.notes
    monkeypatch.setattr(type(watch.store), "evicted", 1234)
    assert job.notes == ("1,234 older events were dropped from memory: no row is of them",)
    while not job.step(math.inf):
        pass
    assert job.rows > 100
    watch.close()


@pytest.mark.parametrize("view", VIEWS)
def test_events_that_come_meanwhile_turn_no_progress_back(view):
    watch = Watch(Planner(KernelInfo(open_target(str(HERE)))), SCREEN)
    watch.begin()
    while watch.store is None or not len(watch.store):
        watch.tick(0.0)
    there = len(watch.store)
    job = ViewJob(TABLES[view](watch, watch.store, Filter()), format_named("jsonl"), io.BytesIO())
    done = [job.done]
    while not job.step(0.0):
        watch.tick(0.0)
        watch.store.flush()
        done.append(job.done)
    assert done == sorted(done) and done[-1] == job.total == there
    watch.close()


def test_what_a_sum_left_out_is_told_apart_from_a_value_of_that_name() -> None:
    table = SummaryTable.__new__(SummaryTable)
    kept = [{"value": "others", "count": 3, "error": 0}]
    values = {"summary": "values", "event": "e", "field": "name", "values": kept, "others": 5}
    assert [(cells["summary"], cells.get("value"), cells["count"]) for cells in table.cells(values)] == [
        ("values", "others", 3),
        ("values others", None, 5),
    ]
    events = {"summary": "events", "events": 3, "of": 790, "uncounted": 40}
    assert [tuple(cells.values()) for cells in table.cells(events)] == [
        ("events", 3),
        ("events of", 790),
        ("events uncounted", 40),
    ]


def test_a_graph_has_no_calls_of_probes_and_that_is_said(tmp_path, capsys):
    path = str(graph_recording(tmp_path / "graph.pwr"))
    status, out, said = called(capsys, path, "--export", "jsonl:-", "--view", "calls")
    assert (status, out) == (REFUSED, "")
    assert said.splitlines() == [f"probewright: {NO_ENDS}"]
