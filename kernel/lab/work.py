"""Run one long task: report its progress, allow to cancel it, and end the programs it started with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kernel.lab.errors import LabCancelled, LabError

KEEPER = Path(__file__).with_name("keeper.py")
_TICK = 0.1  # seconds between two checks of `cancel` while a program runs


class Progress(NamedTuple):
    """Progress of a task."""

    text: str
    fraction: float | None = None
    """Completed share, 0..1; None if unknown."""


class Work:
    """Progress reports and cancellation of one task; cheap, one per `boot()`."""

    def __init__(self, progress: Callable[[Progress], None], cancel: threading.Event | None = None) -> None:
        self._progress = progress
        self._cancel = cancel or threading.Event()

    def say(self, text: str, fraction: float | None = None) -> None:
        """Report progress. Raises LabCancelled, so that each report is a place to stop."""
        if self._cancel.is_set():
            raise LabCancelled
        self._progress(Progress(text, fraction))

    def pause(self, seconds: float) -> None:
        """Sleep. Raises LabCancelled at once if cancelled."""
        if self._cancel.wait(seconds):
            raise LabCancelled

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        check: bool = True,
        remedy: str = "",
        tick: Callable[[], None] = lambda: None,
        output: Path | None = None,
    ) -> bytes:
        """Run a program; return its standard output, also in `output` while it runs; `tick` is called ten times a
        second.

        The program runs under the keeper, so it ends with us in any case.

        Raises:
            LabError: it is missing or, with `check`, it failed; the message ends with its last output.
            LabCancelled: the program has been ended.
        """
        with output.open("w+b") if output else tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = start_process(argv, stdout=out.fileno(), stderr=err.fileno(), cwd=cwd, env=env)
            try:
                while process.poll() is None:
                    # The wait on the process first: most programs here end within one tick.
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(_TICK)
                    self.pause(0)
                    tick()
            finally:
                end_process(process)
            out.seek(0)
            err.seek(0)
            if check and process.returncode:
                words = err.read()[-2000:].decode(errors="replace").strip() or f"exit status {process.returncode}"
                raise LabError(f"{argv[0]}: {words}", remedy)
            return out.read()


def start_process(
    argv: Sequence[str],
    *,
    stdout: int,
    stderr: int,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    remove: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program that ends when we do, even by `kill -9`; folder `remove` is deleted then.

    The process returned is the keeper; its exit status is the program's (127: could not be started).
    """
    keeper = [sys.executable, "-I", "-S", str(KEEPER), str(remove or "")]
    return subprocess.Popen(
        [*keeper, *argv],
        stdin=subprocess.PIPE,  # its closing ends the keeper
        stdout=stdout,
        stderr=stderr,
        cwd=cwd,
        env={**os.environ, "LC_ALL": "C", **(env or {})},
        start_new_session=True,  # an interrupt at our terminal is ours alone
    )


def end_process(process: subprocess.Popen[bytes], timeout: float = 5.0) -> None:
    """End a program started by `start_process` and wait until it is gone; safe to call twice."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        # The program has PR_SET_PDEATHSIG, so it is killed with its keeper.
        process.send_signal(signal.SIGKILL)
        process.wait(timeout)


def wait_until(work: Work, ready: Callable[[], bool], timeout: float, tick: float = 0.03) -> bool:
    """Call `ready` every `tick` seconds until true; False after `timeout` seconds. Raises LabCancelled."""
    end = time.monotonic() + timeout
    while not ready():
        if time.monotonic() > end:
            return False
        work.pause(tick)
    return True
