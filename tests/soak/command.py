"""`python -m tests.soak.command RATE WORDS…`: the command line, with a kernel that is a dict for every target."""

from __future__ import annotations

import sys
from functools import partial

import tui.cli.commands.hosts
import tui.cli.console.output
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import TargetChoice
from kernel.connection.planner import Planner
from kernel.hosts.fleet import Fleet
from tests.soak.busy_target import BusyTarget
from tests.soak.busy_tracer import BusyTracer
from tui.__main__ import main


def _host(rate: int, spec: str, *_: object) -> Planner:
    return Planner(KernelInfo(BusyTarget(rate, spec.rpartition("/")[2])))


if __name__ == "__main__":
    events_per_second = int(sys.argv[1])
    busy = BusyTracer if sys.argv[2] == "graph" else BusyTarget
    tui.cli.console.output.take_target = lambda spec: TargetChoice(busy(events_per_second))
    tui.cli.commands.hosts.Fleet = partial(Fleet, opener=partial(_host, events_per_second // 2))  # type: ignore[misc, assignment]
    sys.exit(main(sys.argv[2:]))
