"""A probe of ours beside the same of bpftrace in one lab guest: the cost of a hit, and the way to the first event."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.errors import LabError
from kernel.lab.guest import Guest, boot
from kernel.lab.target import connect
from kernel.watch.watch import Watch
from tests.bench._measure import ROUNDS, Figure, Part, Row, Spread
from tests.bench.hit import PROBE, seconds_of_calls
from tests.real.tools import packed

THEIRS = (
    'kfunc:vfs_read /pid != 0/ { printf("%s %d %lx %lu %s\\n", comm, tid, (uint64)args->file, args->count, '
    "str(args->file->f_path.dentry->d_name.name)); }"
)
"""What `PROBE` records."""
KERNELS = ("7.2", "6.12")
HIT = Figure("a record, fentry / bpftrace's kfunc", "x", most=1.05, digits=2)
FIRST = Figure("from the command to the first event, ours / bpftrace", "x", most=0.3, digits=2)
LONGEST = 300.0
"""Seconds until bpftrace has begun: its compiler is slow on an emulated processor."""
STARTS = 3
_stack = contextlib.ExitStack()
atexit.register(_stack.close)


@functools.cache
def guest(kernel: str) -> Guest:
    """A guest with bpftrace. Raises LabError."""
    return _stack.enter_context(boot(kernel, workload=False, extra=[packed("bpftrace")], memory=2048))


@contextlib.contextmanager
def bpftrace(own: Guest) -> Iterator[None]:
    """Run bpftrace in the guest, with its events to /dev/null, from its first event to the end of the block."""
    own.run(f"echo {shlex.quote(THEIRS)} >/tmp/theirs.bt")
    own.run("bpftrace -B none /tmp/theirs.bt >/tmp/theirs 2>&1 & echo $! >/tmp/theirs.pid")
    try:
        own.run("until [ $(wc -l </tmp/theirs) -gt 1 ]; do sleep 0.2; done", LONGEST)
        yield
    finally:
        own.run(
            "kill -INT $(cat /tmp/theirs.pid); while kill -0 $(cat /tmp/theirs.pid) 2>/dev/null; do sleep 0.1; done"
        )


def cost(kernel: str) -> list[Row]:
    try:
        own = guest(kernel)
    except LabError as error:
        return [HIT.missing(f"no lab guest: {error}")]
    planner = Planner(KernelInfo(connect(own, own.kernel.release)))
    watch, rounds = Watch(planner), []
    try:
        for _ in range(ROUNDS):
            bare = seconds_of_calls(own, watch, "", "")
            ours = seconds_of_calls(own, watch, PROBE, "fentry")
            with bpftrace(own):
                theirs = seconds_of_calls(own, watch, "", "")
            rounds.append((ours - bare, theirs - bare))
    finally:
        watch.close()
        planner.info.close()
    own_side, their_side = (Spread(tuple(row[at] for row in rounds)) for at in (0, 1))
    return [HIT.of(own_side.over(their_side), f"{own_side.median:,.0f} ns beside {their_side.median:,.0f}")]


def first_event(command: list[str], path: str) -> float:
    """Return the seconds from the start of a command to its first line."""
    begin = time.monotonic()
    environment = {**os.environ, "PATH": path}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        taken = time.monotonic() - begin
        process.terminate()
    assert line, f"{command[0]} told nothing"
    return taken


def start(kernel: str) -> list[Row]:
    try:
        own = guest(kernel)
    except LabError as error:
        return [FIRST.missing(f"no lab guest: {error}")]
    own.run("while :; do wc -c /proc/version; sleep 0.05; done >/dev/null 2>&1 & echo $! >/tmp/busy.pid")
    own.run(f"echo {shlex.quote(THEIRS)} >/tmp/theirs.bt")
    folder = Path(_stack.enter_context(tempfile.TemporaryDirectory()))
    ssh = folder / "ssh"
    ssh.write_text(f'#!/bin/sh\nexec {shlex.join([shutil.which("ssh") or "ssh", *own.ssh_options])} "$@"\n')
    ssh.chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    theirs = [str(ssh), own.host, "bpftrace -B line /tmp/theirs.bt"]
    ours = [str(Path(sys.executable).with_name("probewright")), "run", PROBE, "--via", "bpf", "--count", "1"]
    ours += ["--target", f"ssh://{own.host}:{own.port}"]
    try:
        rounds = [(first_event(ours, path), first_event(theirs, path)) for _ in range(STARTS)]
    finally:
        own.run("kill $(cat /tmp/busy.pid)")
    own_side, their_side = (Spread(tuple(row[at] for row in rounds)) for at in (0, 1))
    return [FIRST.of(own_side.over(their_side), f"{own_side.median:,.1f} s beside {their_side.median:,.1f}")]


PARTS = tuple(
    Part(f"{what}-{kernel}", (figure,), functools.partial(measure, kernel))
    for kernel in KERNELS
    for what, figure, measure in (("hit", HIT, cost), ("first", FIRST, start))
)
