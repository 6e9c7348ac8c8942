"""The time line of writes on known CPUs: counts by CPU against the events, the workload and a hist trigger."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from events.conditions.condition_parser import parse_condition
from events.conditions.time_comparison import interval_clause
from events.search.filtered_rows import FilteredRows
from events.timeline.axis import TimeAxis
from events.timeline.lane_index import LaneKind
from events.timeline.time_window import TimeWindow
from kernel.lab.guest import Guest
from kernel.watch.hist_tables import read_tables
from kernel.watch.watch import Watch
from probes.syntax.parse import parse_probe
from tests.real.command import screen_on
from tests.real.guest_watch import run_workload, watch_of
from tests.real.held import bring_in
from tests.real.test_terminal import arm_typed
from tests.real.tmux import Tmux
from tui.app.typed_ahead import PAUSE
from tui.views.timeline.model import TimelineModel

SIZE = 4_337
"""Bytes of each write, which nobody else writes."""
WRITES = {0: 130, 1: 70}
"""Number of writes by CPU."""
SPEC = f"f vfs_write count if count == {SIZE}"
PROGRAM = "; ".join((
    "import os, time",
    "f = os.open('/dev/null', 1)",
    f"[(os.sched_setaffinity(0, {{cpu}}), time.sleep(0.05), [os.write(f, bytes({SIZE})) for _ in range(number)])"
    f" for cpu, number in {WRITES}.items()]",
))  # fmt: skip
WORKLOAD = f'python3 -c "{PROGRAM}"'


def model_of(watch: Watch, kind: LaneKind, passing: FilteredRows | None = None) -> TimelineModel:
    assert watch.store is not None
    model = TimelineModel(watch.store, kind, passing)
    while model.backlog:
        model.tick(1.0)
    return model


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_counts_by_cpu_are_those_of_the_events_the_workload_and_a_hist_trigger(guest: Guest) -> None:
    with watch_of(guest) as watch:
        watch.armed.arm(parse_probe(SPEC), triggers=(f"hist:keys=common_cpu if count == {SIZE}",))
        bring_in(watch)
        run_workload(watch, guest, WORKLOAD)
        (table,) = read_tables(watch.armed)
        in_kernel = {int(entry.keys[0].text): entry.hits for entry in table.histogram.entries}
        bring_in(watch)
        store = watch.store
        assert store is not None and not store.lost_events
        records = [store.record(seq) for seq in range(store.first_seq, store.next_seq)]
        axis = TimeAxis(store)
        window = TimeWindow.of(axis.start, axis.end, 60)
        model = model_of(watch, LaneKind.CPU)
        shot = model.shot(axis, window, 2, model.gaps(axis))
        assert {lane.name: lane.total for lane in shot.lanes} == {f"CPU {cpu}": n for cpu, n in WRITES.items()}
        assert in_kernel == WRITES == Counter(record.cpu for record in records)
        cells = Counter((record.cpu, window.cell(record.ts)) for record in records)
        for cpu, lane in enumerate(shot.lanes):
            assert lane.counts.tolist() == [cells[cpu, cell] for cell in range(window.cells)]
        (task,) = model_of(watch, LaneKind.TASK).shot(axis, window, 1, shot.gaps).lanes
        assert task.total == sum(WRITES.values())
        # The interval of the writes on one CPU, as a filter.
        second = next(record for record in records if record.cpu == 1)
        clause = interval_clause("time", second.ts, axis.end)
        passing = FilteredRows(store, parse_condition(clause, {}, store.task_names.name))
        filtered = model_of(watch, LaneKind.CPU, passing).shot(axis, window, 2, shot.gaps)
        assert filtered.every.total == WRITES[1] == np.sum([lane.total for lane in filtered.lanes])


def test_the_line_grows_on_the_screen_until_one_moves_away(guest_72: Guest, tmp_path: Path) -> None:
    with Tmux(screen_on(guest_72, tmp_path), 120, 40) as terminal:
        arm_typed(terminal, SPEC)
        time.sleep(2 * PAUSE)  # a letter that is typed while the screen changes is no command
        terminal.press("l")
        terminal.wait(lambda screen: "[time line]" in screen)
        time.sleep(2 * PAUSE)
        guest_72.run(WORKLOAD)
        total = sum(WRITES.values())
        terminal.wait(lambda screen: "● following" in screen and f"shown {total}" in screen)
        terminal.press("v")
        lanes = [f"CPU {cpu} {number}" for cpu, number in WRITES.items()]
        terminal.wait(lambda screen: all(lane in " ".join(screen.split()) for lane in lanes))
        terminal.press("Home")
        terminal.wait(lambda screen: "‖ paused" in screen)
        guest_72.run(WORKLOAD)
        terminal.wait(lambda screen: f"shown {total} of {2 * total}" in screen)
        terminal.press("0")
        terminal.wait(lambda screen: "● following" in screen and f"shown {2 * total}" in screen)
        terminal.press("C-q")
