"""A thousand functions armed at once and gone again in a lab guest, beside the bare system call that links them."""

from __future__ import annotations

import functools
import tempfile
import time
from pathlib import Path

from kernel.bpf import calls
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.errors import LabError
from kernel.lab.target import connect
from kernel.target import Target
from kernel.watch.watch import Watch
from probes.bpf.assembler import Assembler
from probes.bpf.exclusions import exclusion_reason
from probes.bpf.instructions import encode
from probes.functions.function_index import index_of
from probes.plans.plan import Via
from probes.syntax.parse import parse_probe
from tests.bench._measure import ROUNDS, Figure, Part, Row, Spread
from tests.bench.hit import guest

FUNCTIONS = 1_000
ALLOWED = 0.3
"""Seconds beside the system call."""
ARMED = Figure(f"{FUNCTIONS:,} functions armed, but {ALLOWED} s, / the bare link", "x", most=1.2, digits=2)
GONE = Figure(f"{FUNCTIONS:,} functions disarmed", "s", most=0.3, digits=2)


def chosen(info: KernelInfo) -> list[str]:
    """Return functions that a link takes by their names, from all over the kernel."""
    index = index_of(info.facts)
    names = [
        name
        for name, module in index.modules.items()
        if not module and index.count(name) == 1 and name.isidentifier() and not exclusion_reason(name)
    ]
    return names[:: len(names) // FUNCTIONS][:FUNCTIONS]


def bare_link(target: Target, functions: list[str]) -> float:
    """Return the seconds of the system call that attaches a program which does nothing."""
    out = Assembler()
    out.exit()
    program = calls.load_program(target, encode(out.program(), {}), "pw_bare")
    begin = time.monotonic()
    link = calls.attach(target, program, functions)
    taken = time.monotonic() - begin
    target.close_bpf([link, program])
    return taken


def measure(kernel: str) -> list[Row]:
    try:
        own = guest(kernel)
    except LabError as error:
        return [figure.missing(f"no lab guest: {error}") for figure in (ARMED, GONE)]
    planner = Planner(KernelInfo(connect(own, own.kernel.release)))
    planner.via = Via.BPF
    watch, rounds = Watch(planner), []
    names = chosen(planner.info)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        Path(file.name).write_text("\n".join(names) + "\n")
        probe = parse_probe(f"f @{file.name}")
        try:
            watch.armed.disarm(watch.armed.arm(parse_probe("f vfs_statfs")))  # the session is there
            for _ in range(ROUNDS):
                bare = bare_link(planner.info.target, names)
                begin = time.monotonic()
                armed = watch.armed.arm(probe, at_any_rate=True)
                there = time.monotonic()
                assert sum(len(program.functions) for program in armed.plan.programs) == len(names)
                watch.armed.disarm(armed)
                rounds.append((bare, there - begin, time.monotonic() - there))
        finally:
            watch.close()
            planner.info.close()
    link, took, gone = (Spread(tuple(row[at] for row in rounds)) for at in range(3))
    ratio = took.each(lambda seconds: seconds - ALLOWED).over(link)
    return [ARMED.of(ratio, f"{took.median:.2f} s beside {link.median:.2f}"), GONE.of(gone)]


PARTS = tuple(Part(kernel, (ARMED, GONE), functools.partial(measure, kernel)) for kernel in ("7.2", "6.12"))
