"""The tree of stacks of a function that is called on two known paths, against a hist trigger of the same run."""

from __future__ import annotations

import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

from events.aggregates.request import AggregateFunction, AggregateRequest, Statistic
from events.stacks.call_tree import ROOT
from events.stacks.stack_paths import Shape, names_of
from kernel.lab.guest import Guest
from kernel.watch.watch import Watch
from probes.plans.plan import DEFAULT_GROUP
from probes.syntax.parse import parse_probe
from tests.real.command import address, finish, screen_on, ssh_to, start
from tests.real.guest_watch import run_workload, watch_of
from tests.real.held import bring_in
from tests.real.test_terminal import arm_typed
from tests.real.tmux import Tmux
from tui.app.typed_ahead import PAUSE
from tui.views.aggregate.hist_triggers import read_triggers, triggers_of
from tui.views.aggregate.kernel_table import KernelTable
from tui.views.stacks.choice import StackChoice
from tui.views.stacks.model import StackModel

SIZES = {"write": 4_321, "pwrite": 4_322}
"""Bytes of each system call, which nobody else writes."""
CALLS = {"write": 150, "pwrite": 50}
SPEC = "f vfs_write count if count == 4321 || count == 4322"
WRITES = f"[os.write(f, bytes({SIZES['write']})) for n in range({CALLS['write']})]"
PWRITES = f"[os.pwrite(f, bytes({SIZES['pwrite']}), 0) for n in range({CALLS['pwrite']})]"


def workload(*parts: str) -> str:
    program = "; ".join(("import os", "f = os.open('/tmp/written', os.O_RDWR | os.O_CREAT)", *parts))
    return f'python3 -c "{program}" && rm /tmp/written'


def model_of(watch: Watch, choice: StackChoice) -> StackModel:
    assert watch.store is not None
    model = StackModel(watch, watch.store, choice)
    while model.backlog:
        model.tick(1.0)
    return model


@pytest.mark.parametrize("guest", ["7.2", "6.12", "6.1"], indirect=True)
def test_weights_are_those_of_the_workload_and_of_a_hist_trigger(guest: Guest) -> None:
    probe = parse_probe(SPEC)
    request = AggregateRequest(("kstack",), (Statistic(AggregateFunction.SUM, "count"),))
    with watch_of(guest) as watch:
        watch.info.symbols.load()
        (trigger,) = triggers_of(request, watch.planner.lower(probe, DEFAULT_GROUP), "by_flame")
        watch.armed.arm(probe, triggers=("stacktrace", trigger.text))
        bring_in(watch)
        run_workload(watch, guest, workload(WRITES, PWRITES))
        assert watch.store is not None and not watch.store.lost_events
        (event,) = watch.armed.probes[0].plan.events
        read = partial(read_triggers, watch, [trigger._replace(event=event)])
        table = KernelTable(watch, watch.store, request, read)
        table.read()
        in_kernel = {
            tuple(reversed(table.labels.frames(row.keys[0]))): (row.hits, row.totals["count"].sum)
            for row in table.rows(0).rows
        }
        counts, sums = (model_of(watch, StackChoice(value)) for value in ("", "count"))
        found = {names_of(path): (weight, sums.stacks()[path]) for path, weight in counts.stacks().items()}
        assert found == in_kernel and len(found) >= 2
        whole = {name: (CALLS[name], CALLS[name] * SIZES[name]) for name in SIZES}
        assert sum(hits for hits, _ in found.values()) == sum(CALLS.values())
        pwrites = [weights for path, weights in found.items() if any("pwrite" in name for name in path)]
        assert (sum(one for one, _ in pwrites), sum(one for _, one in pwrites)) == whole["pwrite"]
        counts.reshape(Shape(bottom_up=True))
        weighed = counts.weighed()
        (first,) = weighed.tree.children[ROOT]
        assert weighed.tree.frames[first].name == "vfs_write" and weighed.totals[first] == sum(CALLS.values())
        shares = {weighed.tree.frames[node].name: weighed.totals[node] for node in weighed.tree.children[first]}
        assert sorted(shares.values()) == sorted(CALLS.values())


def test_the_command_prints_the_tree_of_the_workload(guest_72: Guest, tmp_path: Path) -> None:
    number = 3 * sum(CALLS.values())
    command = start(
        *("run", SPEC, "--stacks", "--by-task", "--count", str(number), "--target", address(guest_72)),
        *("-o", str(tmp_path / "out.folded")),
        env=ssh_to(guest_72, tmp_path),
    )
    # Nobody knows when the command begins to record: the workload goes on until it has what it was told to count.
    repeated = f"while [ ! -e /tmp/folded ]; do {workload(WRITES, PWRITES)}; done"
    loop = subprocess.Popen([*guest_72.ssh_command, repeated])
    done = finish(command)
    guest_72.run("touch /tmp/folded")
    assert loop.wait() == 0 and done.status == 0, done
    weights = {}
    for line in (tmp_path / "out.folded").read_text().splitlines():
        stack, _, weight = line.rpartition(" ")
        weights[tuple(stack.split(";"))] = int(weight)
    assert sum(weights.values()) == number
    assert {stack[-1] for stack in weights} == {"vfs_write"}
    assert {any("pwrite" in name for name in stack) for stack in weights} == {True, False}


def test_a_flame_graph_grows_on_the_screen_and_is_compared(guest_72: Guest, tmp_path: Path) -> None:
    with Tmux(screen_on(guest_72, tmp_path), 120, 40) as terminal:
        arm_typed(terminal, SPEC)
        time.sleep(2 * PAUSE)  # a letter that is typed while the screen changes is no command
        terminal.press("F")
        terminal.wait(lambda screen: "[stacks]" in screen and "T gives it one" in screen)
        time.sleep(2 * PAUSE)
        terminal.press("T")
        terminal.wait(lambda screen: "triggers of vfs_write" in screen)
        time.sleep(2 * PAUSE)  # what is typed while the screen changes is text, and Enter nothing
        terminal.press("stacktrace")
        terminal.wait(lambda screen: "traceoff" not in screen and "✓ this kernel takes it" in screen)
        time.sleep(2 * PAUSE)
        terminal.press("Enter")
        terminal.wait(lambda screen: "vfs_write__entry  stacktrace" in screen)
        terminal.press("Escape")
        terminal.wait(lambda screen: "triggers of vfs_write" not in screen)
        time.sleep(2 * PAUSE)
        guest_72.run(workload(WRITES, PWRITES))
        screen = terminal.wait(lambda screen: f"all: {sum(CALLS.values())} events" in screen)
        share = 100 * CALLS["write"] / sum(CALLS.values())
        assert f"ksys_write {share:.1f}%" in screen
        terminal.press("z")
        terminal.wait(lambda screen: "from here on against before" in screen)
        guest_72.run(workload(PWRITES))
        terminal.wait(
            lambda screen: f"all: {CALLS['pwrite']} events" in screen and f"-{share:.1f}% ksys_write" in screen
        )
        terminal.press("C-q")
