"""Histograms in the kernel, and those on the screen, against a workload that knows what it did."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pytest

from events.export.catalogue import format_named
from events.losses import UNKNOWN_TASK
from events.summary.distribution import PowerOfTwo
from events.summary.hist_text import keys_of, parse_hist, values_of
from events.summary.summary import Summary
from kernel.lab.guest import Guest
from kernel.session.session import Session
from kernel.watch.hist_tables import HistTable, read_tables
from kernel.watch.histogram import Histograms
from kernel.watch.watch import Watch
from probes.command import parse_armable
from probes.hist.kept import LATENCY, TASK
from probes.syntax.parse import parse_probe
from probes.translation.translate import translate
from tests.real.guest_watch import run_workload
from tests.real.held import bring_in
from tests.replays import replay_of
from tui.cli.tables.hist_printer import print_tables
from tui.filter.filter import Filter
from tui.output.kernel_tables import titles_of_key
from tui.output.view_job import ViewJob
from tui.output.view_tables import TABLES as TABLES_OF_VIEWS
from tui.present.call_ends import ends_of
from tui.present.hist_tables import lines_of

WRITES = 300
SIZE = 77_777
"""Bytes; nobody else writes so many at once."""
WORKLOAD = (
    f"python3 -c 'import os; f = os.open(\"/dev/null\", 1); [os.write(f, bytes({SIZE})) for _ in range({WRITES})]'"
)
SPEC = "f vfs_write%both count $retval"


def _summary(watching: Watch, event: str) -> Summary:
    """Of all that the workload did."""
    assert watching.store is not None
    summary = Summary(watching.store)
    summary.use(ends_of(watching.event_fields.plans))
    summary.choose(event, "count")
    while summary.backlog:
        summary.tick()
    return summary


KERNELS = pytest.mark.parametrize("guest", ["7.2", "6.12", "6.1", "arm64:6.12"], indirect=True)


@KERNELS
def test_the_kernel_counts_every_write_while_nothing_is_recorded(guest: Guest, watch: Watch) -> None:
    armed = watch.armed.arm(parse_probe(f"{SPEC} if count == {SIZE}"))
    assert isinstance(watch.session, Session)
    entry = armed.plan.events[0]
    assert entry.filter
    kept = Histograms(watch.armed)
    kept.begin([armed], [(entry.path, "count")])
    bring_in(watch)  # where the exit has no filter, those of others came until now
    before = watch.store.next_seq
    run_workload(watch, guest, WORKLOAD)
    read = {(one.watched.value, one.watched.event.at_exit): one.histogram for one in kept.read()}
    values = read["count", False]
    assert [(one.keys[0].number, one.hits) for one in values.entries] == [(SIZE, WRITES)]
    assert (values.hits, values.dropped) == (WRITES, 0)
    assert read[TASK, False].hits == WRITES
    assert [one.keys[0].label for one in read[TASK, False].entries] == ["python3"]
    assert read[LATENCY, False].hits == WRITES
    assert watch.store.next_seq == before
    kept.end()
    bring_in(watch)
    watch.counts()  # the tasks of the workload are younger than the counting
    run_workload(watch, guest, WORKLOAD)
    summary = _summary(watch, entry.path)
    assert summary.values is not None
    assert [(top.value, top.hits) for top in summary.values.of_boot(0).top(5)] == [(SIZE, WRITES)]
    assert summary.calls.paired == WRITES
    texts = watch.session.instance.read(f"events/{entry.path}/hist")
    assert parse_hist(texts) == ()


@KERNELS
def test_calls_of_tasks_that_are_younger_than_the_counting_are_whole(
    guest: Guest, watch: Watch, tmp_path: Path
) -> None:
    """Their ids are above the newest one when it ended; in an older task an outer call may have begun meanwhile."""
    armed = watch.armed.arm(parse_probe(f"{SPEC} if count == {SIZE}"))
    watch.record_to(path := tmp_path / "whole.pwr")
    run_workload(watch, guest, WORKLOAD)
    kept = Histograms(watch.armed)
    kept.begin([armed])
    kept.end()
    bring_in(watch)
    watch.counts()
    run_workload(watch, guest, WORKLOAD)
    assert watch.store is not None
    assert watch.store.loss_spans.latest.newest_task(watch.store.latest) != UNKNOWN_TASK
    entry = armed.plan.events[0]
    assert _summary(watch, entry.path).calls.paired == 2 * WRITES
    watch.stop_recording()
    assert _summary(replay_of(path), entry.path).calls.paired == 2 * WRITES, "as a recording shows it"


@KERNELS
def test_latencies_in_the_kernel_are_those_of_the_pairs(guest: Guest, watch: Watch) -> None:
    armed = watch.armed.arm(parse_probe(f"{SPEC} if count == {SIZE}"))
    kept = Histograms(watch.armed)
    kept.begin([armed], recording=True)
    bring_in(watch)
    watch.counts()  # the tasks of the workload are younger than the pause for the triggers
    run_workload(watch, guest, WORKLOAD)
    (latencies,) = (one.histogram for one in kept.read() if one.watched.value == LATENCY)
    in_kernel = sorted((entry.keys[0].number or 0, entry.hits) for entry in latencies.entries)
    summary = _summary(watch, armed.plan.events[0].path)
    (ours,) = summary.latencies.values()
    assert latencies.hits == ours.count == WRITES
    for mine, theirs in zip(_each(ours.powers), _each(PowerOfTwo(*one) for one in in_kernel), strict=True):
        assert abs(mine - theirs) <= 1
    total = sum(entry.values["lat"] for entry in latencies.entries)
    assert abs(total - ours.total) <= 0.1 * ours.total


TABLES = (
    "hist:keys=count.hex,common_pid.execname:sort=hitcount.descending",
    "hist:keys=count.log2:vals=count",
    "hist:keys=stacktrace",
    "hist:name=mine:keys=common_pid:vals=count:sort=count.descending",
)


@pytest.mark.parametrize("guest", ["7.2", "6.1"], indirect=True)
def test_tables_of_hist_triggers_are_the_kernels_hist_file(
    guest: Guest, watch: Watch, capsys: pytest.CaptureFixture[str]
) -> None:
    armed = watch.armed.arm(parse_probe("f vfs_write count"))
    assert isinstance(watch.session, Session)
    (event,) = armed.plan.events
    for text in TABLES:
        watch.armed.add_trigger(armed, event, f"{text} if count == {SIZE}")
    watch.histograms.begin([armed], [(event.path, "count")])
    watch.histograms.end()
    watch.histograms.begin([armed], [(event.path, "count")])  # beside them, with the same keys
    run_workload(watch, guest, WORKLOAD)
    print_tables(watch, as_json=True)
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["hits"] for one in objects] == [WRITES] * len(TABLES)
    text = watch.session.instance.read(f"events/{event.path}/hist")
    kernels = [one for one in text.split("# event histogram") if one.strip() and "pw_" not in one]
    assert len(kernels) == len(TABLES)
    names = re.compile(r"(?:common_pid|common_stacktrace|stacktrace|count|hitcount):|[{},]")
    for section, found in zip(kernels, lines_by_table(read_tables(watch.armed)), strict=True):
        body = section.partition("[active]\n#\n")[2].partition("\nTotals:")[0]
        assert " ".join(sorted(names.sub(" ", body).split())) == " ".join(sorted(" ".join(found).split()))
    entries = [row for row in _given_out(watch) if row["summary"] == "hist"]
    for one in objects:
        own = [row for row in entries if row["trigger"] == one["trigger"]]
        assert len(own) == one["entries_taken"]
        assert sum(int(row["value.hitcount"]) for row in own) == WRITES
        # What the trigger says beforehand of the columns is what the entries have.
        titles = {title for name, modifier in keys_of(one["trigger"]) for title in titles_of_key(name, modifier)}
        titles |= {f"value.{name}" for name in values_of(one["trigger"])}
        for row in own:
            assert {name for name, cell in row.items() if cell and name.startswith(("key.", "value."))} == titles


def _given_out(watch: Watch) -> list[dict[str, str]]:
    """Return the rows of the tables as CSV."""
    form, out = format_named("csv"), io.BytesIO()
    assert form is not None and watch.store is not None
    table = TABLES_OF_VIEWS["histograms"](watch, watch.store, Filter())
    table.read()
    assert ViewJob(table, form, out).step(math.inf)
    return list(csv.DictReader(io.StringIO(out.getvalue().decode(), newline="")))


def lines_by_table(tables: Iterable[HistTable]) -> list[list[str]]:
    """Lines of the entries of each table: without trigger, titles and totals."""
    return [[line.text for line in list(lines_of([table]))[2:-1]] for table in tables]


def _each(powers) -> list[int]:
    return list(chain.from_iterable([power.exponent] * power.hits for power in powers))


LATENCIES = (
    f"kprobe:vfs_write /arg2 == {SIZE}/ {{ @t[tid] = nsecs; }} "
    "kretprobe:vfs_write /@t[tid]/ { @us[retval] = hist((nsecs - @t[tid]) / 1000); delete(@t[tid]); } "
    f"kprobe:vfs_write /arg2 == {SIZE}/ {{ @bytes[tid] = sum(arg2); }}"
)


@pytest.mark.parametrize("guest", ["7.2", "6.1"], indirect=True)
def test_what_a_program_of_bpftrace_measures_and_counts_is_counted(guest: Guest, watch: Watch) -> None:
    found = translate(LATENCIES)
    assert found is not None and found.whole
    for probe, triggers in found.triggers_by_probe.items():
        watch.armed.arm(parse_armable(probe), triggers=triggers)
    run_workload(watch, guest, WORKLOAD)
    times, written = (table.histogram for table in read_tables(watch.armed))
    assert times.hits == written.hits == WRITES
    assert {entry.keys[0].number for entry in times.entries} == {SIZE}
    assert [entry.values["arg2"] for entry in written.entries] == [SIZE * WRITES]
    seen = [watch.store.record(seq).values.get("lat") for seq in range(watch.store.next_seq)] if watch.store else []
    powers = Counter(max(0, math.ceil(math.log2(lat))) for lat in seen if isinstance(lat, int))
    assert {entry.keys[1].number: entry.hits for entry in times.entries} == dict(powers)
