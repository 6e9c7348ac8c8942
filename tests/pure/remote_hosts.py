"""Remote hosts without a network: the agent and the shells as processes of this machine, on a temporary folder."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from kernel.remote.bootstrap import boot_agent
from kernel.remote.protocol.agent_dialect import AgentDialect
from kernel.remote.protocol.shell_dialect import ShellDialect

SHELLS = {"dash": ["dash"], "busybox": ["busybox", "sh"], "bash": ["bash", "--posix"]}
KINDS = ("agent", *SHELLS)


def spawn(argv: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True)


class RemoteHost:
    """One dialect and the process behind it."""

    def __init__(self, kind: str, silence: int = 60) -> None:
        argv = SHELLS.get(kind, ["sh"])
        if shutil.which(argv[0]) is None:
            pytest.skip(f"{argv[0]} is not installed")
        self.kind = kind
        self.process = spawn(argv)
        if kind == "agent":
            boot_agent(self.process, lambda program: f'exec python3 -I -S -c "{program}"')
            self.dialect: AgentDialect | ShellDialect = AgentDialect(self.process, silence)
        else:
            self.dialect = ShellDialect(self.process, lambda: spawn(argv), silence)

    def end(self) -> None:
        with contextlib.suppress(Exception):
            self.dialect.close()
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()


@contextlib.contextmanager
def remote_host(kind: str, silence: int = 60) -> Iterator[RemoteHost]:
    far = RemoteHost(kind, silence)
    try:
        yield far
    finally:
        far.end()


def eventually(look: Callable[[], bool], seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not look():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def runs(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Instance:
    """A folder that looks like a trace instance; its buffers are named pipes, so they can fill and run dry."""

    def __init__(self, folder: Path, cpus: int = 2) -> None:
        self.path = str(folder)
        self.pipes: list[int] = []
        for cpu in range(cpus):
            (folder / f"per_cpu/cpu{cpu}").mkdir(parents=True)
            os.mkfifo(folder / f"per_cpu/cpu{cpu}/trace_pipe_raw")
            self.pipes.append(os.open(folder / f"per_cpu/cpu{cpu}/trace_pipe_raw", os.O_RDWR | os.O_NONBLOCK))
        (folder / "buffer_percent").write_text("50")

    def fill(self, cpu: int, limit: int) -> int:
        """Write pages until the buffer is full for two seconds, or `limit` bytes were taken."""
        page = os.urandom(4096)
        written = 0
        while written < limit and select.select([], [self.pipes[cpu]], [], 2.0)[1]:
            with contextlib.suppress(BlockingIOError):
                written += os.write(self.pipes[cpu], page)
        return written

    def close(self) -> None:
        for pipe in self.pipes:
            os.close(pipe)
