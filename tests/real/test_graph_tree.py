"""The tree of a real tracer shows the nesting that the kernel's own text of the very same events shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from events.calls.call_values import EndRole
from events.graph.begin_end_columns import RowKind
from events.graph.live_tree import LiveTree
from events.graph.tree import CallRowFlag
from events.store.store import Store
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.graph.watch import graph_watch
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.watch.watch import Watch
from probes.plans.graph_plan import GraphPlan
from probes.syntax.parse import parse_probe
from tests.real.graph_runs import names_of, run
from tests.real.held import read_all
from tests.replays import replay_of
from tui.present.call_ends import ends_of

_CALL = re.compile(r"^ *(?:([\w.]+)(?: \[\w+\])?\(\)(;| \{)|\}(?: /\* [\w.]+(?: \[\w+\])? \*/)?)$")
"""Where its beginning was printed for another CPU, the end of a call has its name; a module's stands behind it."""
_TASK = re.compile(r"-(\d+)\s*$")
Nested = tuple[str, int]
"""Name of a call, and which call of its thread is around it; -1: none."""


def printed(text: str) -> dict[int, list[Nested]]:
    """The calls of each thread, as the kernel prints them: by its braces."""
    found: dict[int, list[Nested]] = {}
    stacks: dict[int, list[int]] = {}
    for line in text.splitlines():
        head, _, rest = line.partition("|")
        call, task = _CALL.match(rest.rstrip()), _TASK.search(head)
        if not call or not task:
            continue
        calls, stack = found.setdefault(int(task[1]), []), stacks.setdefault(int(task[1]), [])
        if not call[1]:
            stack.pop()
            continue
        calls.append((call[1], stack[-1] if stack else -1))
        if call[2] != ";":
            stack.append(len(calls) - 1)
    return found


def _around_last(calls: list[Nested]) -> set[int]:
    """The last call of a thread, and those around it."""
    found, place = set(), len(calls) - 1
    while place >= 0:
        found.add(place)
        place = calls[place][1]
    return found


@pytest.mark.parametrize("guest", ["7.2", "full"], indirect=True)
def test_the_nesting_is_that_of_the_kernels_text(guest: Guest) -> None:
    target = connect(guest, "guest")
    try:
        options = ("funcgraph-proc", "nofuncgraph-duration")
        functions = ("vfs_*", "*read*", "*iter*", "*seq*", "*copy*")
        plan = GraphPlan(("vfs_read",), functions=functions, max_depth=5, args=False, irqs=False, options=options)
        found = run(guest, target, plan)
        symbols, _ = names_of(target)
    finally:
        target.close()
    growing = LiveTree(found.store, {})
    while growing.tick(1.0):
        pass
    tree = growing.tree
    rows = [row for row in map(tree.row, range(tree.next)) if row.kind == RowKind.CALL]
    ours: dict[int, list[Nested]] = {}
    places: dict[int, int] = {}
    unended: list[tuple[int, int]] = []
    for row in rows:
        assert not row.flags & ~(CallRowFlag.RETVAL | CallRowFlag.FAILED | CallRowFlag.OPEN)
        calls = ours.setdefault(row.task, [])
        if row.flags & CallRowFlag.OPEN:
            unended.append((row.task, len(calls)))
        places[row.row] = len(calls)
        name = symbols.text(row.function, offset=False).split(" ")[0]
        calls.append((name, places[row.parent] if row.parent >= 0 else -1))
    assert len(rows) > 50
    assert max(row.level for row in rows) == 4
    # The last call of a thread may be going on when it is paused, and those around it.
    assert all(place in _around_last(ours[task]) for task, place in unended)
    theirs = printed(found.text)
    assert ours.keys() == theirs.keys()
    for task, calls in ours.items():
        differ = [n for n, (one, other) in enumerate(zip(calls, theirs[task], strict=False)) if one != other]
        assert not differ, (calls[differ[0] - 2 : differ[0] + 3], theirs[task][differ[0] - 2 : differ[0] + 3])
        assert len(calls) == len(theirs[task])


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_a_recording_holds_the_same_tree(guest: Guest, tmp_path: Path) -> None:
    planner = Planner(KernelInfo(connect(guest, "guest")))
    watch = graph_watch(planner, GraphPlan(("vfs_read",), functions=("vfs_*", "*read*"), max_depth=4, switches=True))
    path = tmp_path / "graph.pwr"
    try:
        watch.begin()
        watch.record_to(path)
        guest.run("cat /proc/meminfo /proc/version >/dev/null")
        read_all(watch.session)  # else more comes between the look at the store and the end of the recording
        watch.queue.settle()
        while watch.session.pump.wait(0) or watch.intake.unsettled:
            watch.tick()
        assert watch.stop_recording() == path
    finally:
        assert not watch.close()
        planner.info.close()
    again = replay_of(path)
    assert again.info.holds_events
    assert watch.store is not None
    assert again.store is not None
    trees = []
    for store in (watch.store, again.store):
        store.flush()
        growing = LiveTree(store, {})
        while growing.tick(1.0):
            pass
        trees.append([growing.tree.row(number) for number in range(growing.tree.next)])
    assert len(trees[0]) > 50
    assert trees[0] == trees[1]
    again.info.close()


NESTED = ("vfs_read", "rw_verify_area", "security_file_permission")


def _trees(store: Store, ends: Mapping[str, EndRole], name: Callable[[int], str]) -> dict[int, list[Nested]]:
    """By thread the calls of `NESTED` below vfs_read, each with its level."""
    growing = LiveTree(store, ends)
    while growing.tick(1.0):
        pass
    assert growing.traced == (not ends)
    found: dict[int, list[Nested]] = {}
    for row in map(growing.tree.row, range(growing.tree.next)):
        called = name(row.function)
        if row.kind == RowKind.CALL and called in NESTED and not row.flags & CallRowFlag.NO_ENTRY:
            calls = found.setdefault(row.task, [])
            if row.level == NESTED.index(called):  # else it is below another function, as vfs_write
                calls.append((called, row.level))
    return found


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_probes_at_both_ends_give_the_tree_that_the_tracer_gives(guest: Guest) -> None:
    planner = Planner(KernelInfo(connect(guest, "guest")))
    graph, probes = graph_watch(planner, GraphPlan(NESTED[:1], functions=NESTED, max_depth=3)), Watch(planner)
    try:
        for function in NESTED:
            probes.armed.arm(parse_probe(f"f {function}%both"))
        graph.begin()
        pids = guest.run(
            "for one in 1 2 3; do sh -c 'echo $$; exec dd if=/proc/meminfo of=/dev/null bs=64 count=8'; done"
        ).decode()
        for watch in (graph, probes):
            read_all(watch.session)
        graph.queue.settle()
        for watch in (graph, probes):
            watch.intake.settle()
            watch.tick()
        symbols, _ = names_of(planner.info.target)
        plans = probes.event_fields.plans
        assert graph.store is not None and probes.store is not None
        traced = _trees(graph.store, {}, lambda number: symbols.text(number, offset=False))
        paired = _trees(probes.store, ends_of(plans), lambda number: plans[number].probe.subject)
    finally:
        assert not probes.close()
        assert not graph.close()
        planner.info.close()
    tasks = [int(line) for line in pids.splitlines() if line.isdecimal()]
    assert len(tasks) == 3
    for task in tasks:
        assert paired[task] == traced[task]
        assert paired[task].count((NESTED[2], 2)) >= 4
