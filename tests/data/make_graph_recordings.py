"""Makes graph-KERNEL.pwr: a moment of the function_graph tracer on a real kernel, with what is needed to read it.

graph-failures.pwr has the calls of `tests.real.failures_inside`, which BPF programs traced on the newest kernel.

python -m tests.data.make_graph_recordings [KERNEL|failures ...]
"""

from __future__ import annotations

import shlex
import sys
import tempfile
from pathlib import Path

import numpy as np

from events.batch import Batch
from events.decode import Decoder
from events.graph.decode import read_graph_ends
from events.recording.reader import Recording
from events.store.store import Store
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.graph.watch import failure_watch, graph_watch
from kernel.lab.guest import boot
from kernel.lab.target import connect
from probes.plans.graph_plan import GraphPlan
from tests.data.trimmed_recording import write_trimmed
from tests.real import failures_inside

FOLDER = Path(__file__).parent
KERNELS = ("full", "7.2", "failures")
ROOTS = ("vfs_read", "vfs_open", "vfs_write", "hrtimer_nanosleep", "do_sys_openat2")
WORK = (
    "for i in 1 2 3; do cat /proc/meminfo /proc/self/status >/dev/null; ls /nothing 2>/dev/null; "
    "dd if=/dev/zero of=/tmp/x bs=4096 count=4 2>/dev/null; sleep 0.02; done"
)
FAILING = (
    *("openat", "sethostname", "timerfd_create", "fsync", "mkdirat", "unlinkat", "uname", "kill", "wait4"),
    *("linkat", "mount"),
)
EVENTS = 8000
_BOUNDS = ("_stext", "_text", "_end", "_etext", "_einittext", "__irqentry_text_start", "__irqentry_text_end")


def record(kernel: str, path: Path) -> None:
    """Trace the work on a guest."""
    machine = boot(kernel, python=True, workload=False)
    planner = Planner(KernelInfo(connect(machine, f"lab:{kernel}", owned=True)))
    watch = graph_watch(planner, GraphPlan(ROOTS, max_depth=7, switches=True))
    try:
        watch.begin()
        watch.record_to(path)
        machine.run(WORK)
        watch.intake.settle()
        watch.stop_recording()
    finally:
        watch.close()
        planner.info.close()


def record_failures(path: Path) -> None:
    """Trace the calls that fail on a guest of the newest kernel."""
    machine = boot("7.2", python=True, workload=False)
    planner = Planner(KernelInfo(connect(machine, "lab:7.2", owned=True)))
    watching = failure_watch(planner, GraphPlan(FAILING, irqs=False, returns=True))
    watch = watching.watch
    try:
        watching.begin()
        watch.record_to(path)
        machine.run(f"python3 -c {shlex.quote(Path(failures_inside.__file__).read_text())}")
        watch.intake.settle()
        watch.stop_recording()
    finally:
        watch.close()
        planner.info.close()


def trim(path: Path, out: Path, *, whole: bool = False) -> None:
    """Keep the passes from the first one on in which three tasks are traced (`whole`: all), and the symbols of their
    functions.
    """
    found = Recording.open(path)
    store = Store(Decoder({}, found.header))
    kept: list[object] = []
    for entry in found.timeline():
        if not isinstance(entry, Batch):
            store.use(entry)
            kept.append(entry)
            continue
        before = store.next_seq
        store.feed(entry)
        store.flush()
        new = read_graph_ends(store, before, store.next_seq)
        begun = any(isinstance(one, Batch) for one in kept)
        if whole or begun or len(np.unique(new.pid[new.kind < 2])) >= 3:
            kept.append(entry)
        if (
            not whole
            and begun
            and len(new)
            and sum(len(one.chunks) for one in kept if isinstance(one, Batch)) > EVENTS // 40
        ):
            break
    functions = set(np.unique(read_graph_ends(store, store.first_seq, store.next_seq).function).tolist())
    write_trimmed(out, found, kept, functions, meta=("byteorder",), others=_BOUNDS)


if __name__ == "__main__":
    for which in sys.argv[1:] or KERNELS:
        with tempfile.TemporaryDirectory() as folder:
            whole = Path(folder) / "whole.pwr"
            if which == "failures":
                record_failures(whole)
            else:
                record(which, whole)
            trim(whole, FOLDER / f"graph-{which}.pwr", whole=which == "failures")
