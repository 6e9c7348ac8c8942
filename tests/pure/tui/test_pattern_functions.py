"""The function of each event of a pattern, wherever events are given out: each is the one that its probe is on."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path

import pytest

import tui
from events.calls.call_values import CalledFunction, function_key
from events.summary.distribution import Distribution
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import choose
from kernel.connection.planner import Planner
from kernel.watch.watch import Watch
from probes.plans.plan import PlanColumn, PlannedEvent
from tests.pattern_recording import FUNCTIONS, pattern_recording
from tests.pure.commands import command  # noqa: F401 - a fixture
from tui.filter.completion import values_seen
from tui.output.event_source import _probe_note
from tui.present.call_ends import titled_latencies


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(pattern_recording(tmp_path_factory.mktemp("pattern") / "pattern.pwr"))


def function_of(event: str) -> str:
    return next(name for name in FUNCTIONS if event.startswith(name))


def test_lines_of_json_have_the_name(command, recording):  # noqa: F811
    rows = [json.loads(line) for line in command(recording, "--export", "jsonl").out.splitlines()]
    events = [row for row in rows if row["event"].startswith(FUNCTIONS)]
    assert len({function_of(row["event"]) for row in events}) == len(FUNCTIONS)
    for row in events:
        assert row["values"]["func"] == row["text"]["func"] == function_of(row["event"])


def test_csv_has_a_column_with_the_name(command, recording):  # noqa: F811
    rows = list(csv.DictReader(io.StringIO(command(recording, "--export", "csv").out)))
    assert rows and all(row["func"] == function_of(row["event"]) for row in rows)


def test_parquet_has_a_column_with_the_name(command, recording, tmp_path):  # noqa: F811
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "events.parquet"
    assert command(recording, "--export", f"parquet:{path}").status == 0
    rows = parquet.read_table(path).to_pylist()
    assert rows and all(row["func"] == function_of(row["event"]) for row in rows)


def test_stacks_of_calls_are_those_of_functions(command, recording, tmp_path):  # noqa: F811
    command(recording, "--export", f"folded:{tmp_path}/f")  # events that are no calls are left out, and said
    frames = {
        frame
        for line in (tmp_path / "f").read_text().splitlines()
        for frame in line.rpartition(" ")[0].split(";")[1:]
    }
    assert frames and frames <= set(FUNCTIONS)


def test_a_table_by_function_has_the_events_of_a_filter_on_one(command, recording):  # noqa: F811
    """The symbols that the names need are read before the first event."""

    def counts(file: str, *words: str) -> dict[str, int]:
        rows = map(json.loads, command(file, "--by", "func", "--export", "jsonl", *words).out.splitlines())
        return {one["by"]["func"]: one["count"] for one in rows if one["summary"] == "group"}

    default = str(Path(tui.__file__).with_name("default.pwr"))
    for file, names in ((recording, FUNCTIONS), (default, ("may_open", "fifo_open"))):
        every = counts(file)
        for name in names:
            assert counts(file, "--filter", f"func == {name}") == {name: every[name]}


def test_calls_and_sums_name_it(command, recording):  # noqa: F811
    calls = [json.loads(line) for line in command(recording, "--export", "jsonl", "--view", "calls").out.splitlines()]
    called = Counter(call["call"] for call in calls)
    assert called and set(called) <= set(FUNCTIONS)
    sums = [
        json.loads(line) for line in command(recording, "--export", "jsonl", "--view", "summary").out.splitlines()
    ]
    timed = {one["function"]: one["calls"] for one in sums if one["summary"] == "latency"}
    pairs = Counter(call["call"] for call in calls if call["latency"] is not None)
    assert timed == dict(pairs)


def test_a_filter_by_name_passes_both_ends(command, recording):  # noqa: F811
    rows = [json.loads(line) for line in command(recording, "--export", "jsonl").out.splitlines()]
    for text, wanted in (("func == vfs_write", {"vfs_write"}), ('func ~ "vfs_*"', {"vfs_read", "vfs_write"})):
        passing = command(recording, "--export", "jsonl", "--filter", text).out.splitlines()
        assert [json.loads(line) for line in passing] == [row for row in rows if function_of(row["event"]) in wanted]


def titles(watch, *functions):
    latencies = {CalledFunction(function): Distribution() for function in functions}
    return [title for title, _ in titled_latencies(watch, latencies)]


def test_functions_of_two_probes_are_told_apart(recording):
    planner = Planner(KernelInfo(choose(recording).target))
    planner.info.symbols.load()
    watch = Watch(planner)
    watch.begin()
    while not watch.ended:
        watch.tick()
    (address,) = {
        value
        for seq in range(watch.store.first_seq, watch.store.next_seq)
        if "vfs_write" in (record := watch.store.record(seq)).event
        and isinstance(value := record.values["func"], int)
    }
    offered = values_seen(watch, watch.store, "func")
    assert offered and {one.text for one in offered} <= set(FUNCTIONS), "those of the newest events"
    plans = [plan.probe.subject for plan in watch.event_fields.plans]
    first, second = function_key(0, address), function_key(1, address)
    assert titles(watch, first, function_key(1)) == ["vfs_write", plans[1]]
    assert titles(watch, first, second) == [f"vfs_write ({plan})" for plan in plans[:2]]
    assert titles(watch, function_key(0, 1 << 12)) == ["0x1000"]
    watch.close()


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_calls_have_the_name_as_events_have_it(command, recording, form):  # noqa: F811
    out = command(recording, "--view", "calls", "--export", form).out
    assert "call" in out
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(out)))
        names = {row[end] for row in rows for end in ("entry.func", "exit.func")} - {""}
    else:
        calls = [row for row in map(json.loads, out.splitlines()) if "call" in row]
        names = {end["func"] for row in calls for end in row["values"].values() if end}
    assert names and names <= set(FUNCTIONS)


def test_probes_of_one_pattern_export_names_that_fit_it():
    event = PlannedEvent("g", "e", "f:g/e vfs_*", "-:g/e", columns=(PlanColumn("func", "func", functions="vfs_*"),))
    for title in ("vfs_*", "vfs_* (e)"):
        assert _probe_note(title, event, frozenset()).pattern == "vfs_*"
