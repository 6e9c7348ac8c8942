"""Commands whose reader has stopped reading: the pipe is full, and two signals end them all the same."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kernel.connection.open_target import shipped_recording
from tui.cli.follow.signals import TWICE

HERE = str(shipped_recording())
READS = ["run", "f vfs_read%return file->f_pos count $retval", "--target", HERE]


@contextmanager
def unread(words: list[str]) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The command, once it waits for a reader that does not come; and what it writes into."""
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    with subprocess.Popen(
        [sys.executable, "-m", "tui", *words], stdout=write, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            end = time.monotonic() + 60
            while not waits(process.pid, write):
                assert time.monotonic() < end and process.poll() is None, "it never waits"
                select.select([], [], [], 0.02)
            yield process, write
        finally:
            process.kill()
            process.wait()
            os.close(read)
            os.close(write)


def waits(pid: int, pipe: int) -> bool:
    """Whether the pipe is full and the main thread in a system call on standard output: proc_pid_syscall(5)."""
    full = not select.select([], [pipe], [], 0.05)[1]
    return full and Path(f"/proc/{pid}/syscall").read_text().split()[1:2] == ["0x1"]


def handled(pid: int, number: int) -> bool:
    """Whether no such signal is pending any more."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    pending = {
        line.split(":")[0]: int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd", "ShdPnd"))
    }
    return not any(bits >> (number - 1) & 1 for bits in pending.values())


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([*READS, "--json"], 0, "interrupted: some received events were not written"),
        (READS, 0, "interrupted: some received events were not written"),
        ([*READS, "--export", "jsonl"], 1, "standard output: interrupted by a second signal"),
        ([*READS, "--export", "parquet"], 1, "standard output: interrupted by a second signal"),
        ([HERE, "--export", "csv"], 130, ""),
    ],
)
def test_two_signals_end_what_nobody_reads(words, status, said):
    with unread(words) as (process, pipe):
        for _ in range(2):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                end = time.monotonic() + 60
                while process.poll() is None and not (
                    handled(process.pid, signal.SIGTERM) and waits(process.pid, pipe)
                ):
                    assert time.monotonic() < end, "it goes on"
                    select.select([], [], [], 0.02)
                time.sleep(TWICE)  # sooner it would be the same request
        _, told = process.communicate(timeout=60)
    assert (process.returncode, said in told) == (status, True), told
