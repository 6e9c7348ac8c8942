"""The kernel's verdict on each command that real kernels were asked: the mean, and the longest one."""

from __future__ import annotations

import functools
import statistics

from probes.kernel_verdict import kernel_verdict
from tests.bench._measure import Figure, Part, Row, Spread, cpu_timer, together
from tests.probes_data import KERNELS, environment, kernel


def figures(name: str) -> tuple[Figure, Figure]:
    """The mean and the longest of a kernel's commands."""
    mean = Figure(f"check of a command, mean of those of {name}", "ms", most=1, digits=2)
    return mean, Figure("  the longest of them", "ms", most=5, digits=2)


def measured(name: str) -> list[Row]:
    btf, facts, cases = kernel(name)
    known = environment(name)
    kernel_verdict("f vfs_read file->f_pos x=file:%pD", btf, facts)
    works = [
        functools.partial(kernel_verdict, case.command, btf, facts, case.setup, case.interface, known)
        for case in cases
    ]
    taken = [one.each(lambda seconds: seconds * 1e3) for one in together([cpu_timer(work) for work in works])]
    mean, longest = figures(name)
    means = Spread(tuple(map(statistics.fmean, zip(*(one.rounds for one in taken), strict=True))))
    worst, command = max(zip(taken, (case.command for case in cases), strict=True), key=lambda one: one[0].median)
    return [mean.of(means, f"{len(cases):,} commands"), longest.of(worst, command[:40])]


PARTS = tuple(Part(name, figures(name), functools.partial(measured, name)) for name in KERNELS)
