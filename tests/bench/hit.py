"""The cost of a hit in a lab guest: BPF programs beside events of tracefs, on the same calls in the same guest."""

from __future__ import annotations

import atexit
import contextlib
import functools
from dataclasses import replace

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.errors import LabError
from kernel.lab.guest import Guest, boot
from kernel.lab.target import connect
from kernel.watch.watch import Watch
from probes.facts.program_support import ProgramSupport
from probes.plans.plan import Via
from probes.syntax.parse import parse_probe
from tests.bench._measure import ROUNDS, Figure, Part, Row, Spread

CALLS, LOOPS = 500, 18
"""A round is the shortest of some loops: other work on the machine makes a loop longer, never shorter."""
PROBE = "f vfs_read file count name=file->f_path.dentry->d_name.name:string"
FILTER = " if count == 4711"
"""True for none of the calls."""
LOOP = f"""
import os, time
os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
null, read = os.open("/dev/null", os.O_RDONLY), os.read
def once():
    start = time.perf_counter_ns()
    for _ in range({CALLS}):
        read(null, 8)
    return time.perf_counter_ns() - start
print(min(once() for _ in range({LOOPS})) / {CALLS})
"""
"""Nanoseconds of a call, at best."""
MEANS = {
    "tracefs": (Via.TRACEFS, ProgramSupport()),
    "fentry": (Via.BPF, ProgramSupport(multi=False)),
    "kprobe.multi": (Via.BPF, ProgramSupport(fentry=False)),
}
FALSE = {
    "fentry": Figure("a hit that a filter drops, fentry / tracefs", "x", most=0.2, digits=2),
    "kprobe.multi": Figure("a hit that a filter drops, kprobe.multi / tracefs", "x", most=0.25, digits=2),
}
RECORD = {name: Figure(f"a record, {name} / tracefs", "x", most=0.6, digits=2) for name in FALSE}

_stack = contextlib.ExitStack()
atexit.register(_stack.close)


@functools.cache
def guest(kernel: str) -> Guest:
    """The guest of all parts of a kernel; it ends with the process. Raises LabError."""
    return _stack.enter_context(boot(kernel, workload=False))


def seconds_of_calls(own: Guest, watch: Watch, text: str, means: str) -> float:
    """Return the nanoseconds of a call while a probe is armed; empty: none is."""
    loop = f"python3 -c '{LOOP}'"
    if not text:
        return float(own.run(loop))
    via, support = MEANS[means]
    watch.planner.via = via
    info = watch.planner.info
    info.__dict__["program_support"] = replace(info.program_support, fentry=support.fentry, multi=support.multi)
    armed = watch.armed.arm(parse_probe(text), at_any_rate=True)
    assert all(program.point.on_one == (means == "fentry") for program in armed.plan.programs)
    assert bool(armed.plan.programs) == (via is Via.BPF)
    try:
        taken = float(own.run(loop))
        counts = watch.counts()
        assert counts is not None and not sum(counts.full.values()), "what is lost costs less"
        return taken
    finally:
        watch.armed.disarm(armed)
        watch.tick()


def cost(kernel: str, means: str, text: str, figure: Figure) -> list[Row]:
    try:
        own = guest(kernel)
    except LabError as error:
        return [figure.missing(f"no lab guest: {error}")]
    planner = Planner(KernelInfo(connect(own, own.kernel.release)))
    watch = Watch(planner)
    try:
        if not getattr(planner.info.program_support, "fentry" if means == "fentry" else "multi"):
            return [figure.missing("this kernel attaches no such program")]
        rounds = [
            tuple(seconds_of_calls(own, watch, *one) for one in (("", ""), (text, means), (text, "tracefs")))
            for _ in range(ROUNDS)
        ]
    finally:
        watch.close()
        planner.info.close()
    ours, theirs = (Spread(tuple(row[at] - row[0] for row in rounds)) for at in (1, 2))
    return [figure.of(ours.over(theirs), f"{ours.median:,.0f} ns beside {theirs.median:,.0f}")]


PARTS = tuple(
    Part(f"{what}-{means}-{kernel}", (figure,), functools.partial(cost, kernel, means, text, figure))
    for kernel in ("7.2", "6.12", "6.1", "arm64:6.12")
    for what, text, figures in (("false", PROBE + FILTER, FALSE), ("record", PROBE, RECORD))
    for means, figure in figures.items()
    if means == "fentry" or kernel in ("7.2", "6.12")
)
