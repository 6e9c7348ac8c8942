"""The index of functions from cold bytes, against bpftool's raw dump to a file."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from btf.btf import Btf
from tests.bench._bpftool import raw_dump
from tests.bench._measure import Figure, Part, Row, Timer, interleaved
from tests.btf_writer import stored

MOST = 0.15
HERE = Figure("function index from cold bytes / bpftool raw to a file", "x", most=MOST, digits=3)
FRESH = Figure("the same, the first of a process of its own", "x", most=MOST, digits=3)


def seconds_of_index(source: Path) -> float:
    """CPU seconds from the file to the names of all functions; the collector is as the process has it."""
    began = time.process_time_ns()
    with source.open("rb", 0) as file:
        types = Btf.load(file.read())
    names = types.functions
    taken = (time.process_time_ns() - began) / 1e9
    assert "vfs_read" in names
    return taken


def here(source: Path) -> Timer:
    """A timer in this process; what the call before left is collected first."""

    def timer() -> float:
        gc.collect()
        return seconds_of_index(source)

    return timer


def fresh(source: Path) -> Timer:
    """A timer in a new process, in which nothing was done before."""
    command = [sys.executable, "-m", "tests.bench.btf", str(source)]
    return lambda: float(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def measured(figure: Figure, timer_of: Callable[[Path], Timer]) -> list[Row]:
    """The row of ours beside bpftool's."""
    with raw_dump(stored("btf-7.2")) as peer:
        if peer is None:
            return [figure.missing("no bpftool here")]
        source, theirs = peer
        own, other = interleaved(timer_of(source), theirs)
    return [figure.of(own.over(other), f"{own.median * 1e3:.1f} ms beside {other.median * 1e3:.0f} ms")]


PARTS = (
    Part("here", (HERE,), lambda: measured(HERE, here)),
    Part("fresh", (FRESH,), lambda: measured(FRESH, fresh)),
)

if __name__ == "__main__":
    print(seconds_of_index(Path(sys.argv[1])))
