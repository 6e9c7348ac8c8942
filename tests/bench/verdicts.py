"""The kernel's verdict on each command that real kernels were asked: the mean, and the longest one."""

from __future__ import annotations

import time

from probes.kernel_verdict import kernel_verdict
from tests.probes_data import KERNELS, environment, kernel

ROUNDS = 3
TYPICAL, LONGEST = 1.0, 5.0


def _taken(name: str) -> list[float]:
    """Milliseconds a command, the best of some rounds, in order."""
    btf, facts, cases = kernel(name)
    kernel_verdict("f vfs_read file->f_pos x=file:%pD", btf, facts)
    best = []
    for case in cases:
        times = []
        for _ in range(ROUNDS):
            begin = time.perf_counter()
            kernel_verdict(case.command, btf, facts, case.setup, case.interface, environment(name))
            times.append(time.perf_counter() - begin)
        best.append(min(times) * 1000)
    return sorted(best)


def run() -> list[tuple[str, str, str, bool]]:
    rows = []
    for name in KERNELS:
        taken = _taken(name)
        mean = sum(taken) / len(taken)
        figure = f"{mean:.2f} ms, longest {taken[-1]:.2f} ms"
        bound = f"<= {TYPICAL:.0f} ms, {LONGEST:.0f} ms"
        rows.append(
            (f"check, {len(taken):,} commands, {name}", figure, bound, mean <= TYPICAL and taken[-1] <= LONGEST)
        )
    return rows
