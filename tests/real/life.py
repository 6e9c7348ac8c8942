"""A session's life from begin to end, which tells each of its steps: what the fault drill kills somewhere inside.

    python -m tests.real.life OPTIONS RECORDING         on a guest, over ssh with these options (JSON)

It needs no numpy, so that it runs inside a guest, too (`drill_inside.py`). There are two: of probes, and of sources.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from kernel.connection.kernel_info import KernelInfo
from kernel.graph.function_graph import open_graph
from kernel.session.armed import Armed
from kernel.session.session import Session
from kernel.session.start import open_session
from kernel.target import Target
from probes.command import parse_armable
from probes.lowering.lower import lower
from probes.plans.graph_plan import GraphPlan
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbePlace

GRAPH = GraphPlan(
    roots=("vfs_read",), not_below=("vfs_open",), functions=("vfs_read", "vfs_open"), max_depth=3, sleep_time=False
)
"""It changes four settings of the whole kernel, and before Linux 6.19 an option as well."""
SYNTHETIC = "drill_took"
"""An event under a name that tells nothing of us."""
TRACERS = ("timerlat period=7ms stop=9s stack=8s cpus=0", "osnoise period=300ms runtime=200ms tolerance=3us", "hwlat")
"""An instance has one of them at a time; between them they change all settings that sources have."""
BESIDE = ("wakeup", "u:drill_said u32 number")
"""Armed beside each: a synthetic event with triggers, and an event of programs. BPF programs, as watchpoints have
them, are no more than open files; the session that reads their records needs numpy.
"""
_PASSES = 6

Record = Callable[[Session], Callable[[], object]]
"""Maker of what drains a session."""


def tell_steps(target: Target, tell: Callable[[], object]) -> None:
    """Call `tell` before each thing that is done on a target."""

    def telling(method: Callable[..., object]) -> Callable[..., object]:
        def told(*words: object) -> object:
            tell()
            return method(*words)

        return told

    for name in ("perform", "guard", "unguard", "hold", "stream"):
        setattr(target, name, telling(getattr(target, name)))


def live(target: Target, tell: Callable[[], object], record: Record) -> None:
    """All of a life with probes: a trigger, an event of another name, a function graph, and the way back."""
    tell_steps(target, tell)
    session = open_session(target)
    ends = [event(session, "read", "f", "vfs_read", "$arg3"), event(session, "done", "f", "vfs_read%return")]
    armed = session.probes.arm(Plan(Probe(ProbePlace("vfs_read")), tuple(ends)))
    counted = event(session, "open", "p", "vfs_open", triggers=("hist:keys=common_pid",))
    session.probes.arm(Plan(Probe(ProbePlace("vfs_open")), (counted,)))
    line = f"s:synthetic/{SYNTHETIC} u64 took"
    synthetic = PlannedEvent("synthetic", SYNTHETIC, line, f"-:synthetic/{SYNTHETIC}", recorded=False)
    session.probes.arm(Plan(Probe(ProbePlace("x")), (synthetic,)))
    drain = record(session)
    with open_graph(target, GRAPH, buffer_kb=64):
        for _ in range(_PASSES):
            drain()
            tell()
            session.pump.wait(0.1)
    drain()
    session.probes.disarm(armed)
    session.close()


def live_with_sources(target: Target, tell: Callable[[], object], record: Record) -> None:
    """All of a life with sources, and an event of programs."""
    tell_steps(target, tell)
    info = KernelInfo(target)
    session = open_session(target)
    drain = record(session)

    def arm(text: str) -> Armed:
        plan = lower(parse_armable(text), None, info.facts, session.group, environment=info.environment.nearby)
        return session.probes.arm(plan)

    for text in BESIDE:
        arm(text)
    for text in TRACERS:
        armed = arm(text)
        for _ in range(2):
            drain()
            tell()
            session.pump.wait(0.1)
        session.probes.disarm(armed)
    session.close()


def event(session: Session, name: str, letter: str, *words: str, triggers: tuple[str, ...] = ()) -> PlannedEvent:
    path = f"{session.group}/{name}"
    return PlannedEvent(
        session.group, name, " ".join([f"{letter}:{path}", *words]), f"-:{path}", words[0].endswith("n"), "", triggers
    )


def main() -> None:
    from kernel.remote.address import Address
    from kernel.remote.connect import open_ssh
    from kernel.watch.recorder import Recorder

    def tell() -> None:
        print("step", flush=True)

    tell()
    target = open_ssh(Address("127.0.0.1", "root"), options=json.loads(sys.argv[1]))
    tell()
    print("ssh", flush=True)

    def record(session: Session) -> Callable[[], object]:
        recorder = Recorder(Path(sys.argv[2]))
        recorder.write_kernel(KernelInfo(target))
        recorder.begin(session.header, session.probes.armed)
        recorder.start()
        print("recording", flush=True)

        def drain() -> None:
            until = time.monotonic() + 0.1
            while time.monotonic() < until:
                session.pump.wait(0.1)
                for batch in session.pump.drain():
                    recorder.pages(batch)

        return drain

    try:
        live(target, tell, record)
    finally:
        target.close()


if __name__ == "__main__":
    main()
