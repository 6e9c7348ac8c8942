"""The text of a trace_pipe through a shell of its own on the far side."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import subprocess
import time
from typing import IO

from events.batch import Batch, Chunk
from kernel.drain import write_all
from kernel.errors import TargetLost
from kernel.quote import quote
from kernel.shell_program import STREAM


class TextStream:
    """Lines of an instance's trace_pipe, through a shell of its own; a `kernel.target.Stream`.

    Nothing is read ahead: where nobody asks, the pipes fill, then the kernel's own ring buffer.
    """

    def __init__(self, process: subprocess.Popen[bytes], instance: str) -> None:
        if process.stdin is None or process.stdout is None:
            raise ValueError("the process needs pipes")
        self._process, self._to, self._from = process, process.stdin, process.stdout
        self._rest = b""
        self._closed = False
        token = secrets.token_hex(16)
        script = STREAM + f"t_run {quote(instance)} {token}\n"
        write_all(self._to.fileno(), script.encode("utf-8", "surrogateescape"))
        self.pids = self._hello(self._from, token.encode())

    def read(self, timeout: float) -> Batch | None:
        end = time.monotonic() + timeout
        while not self._closed:
            try:
                if not select.select([self._from], [], [], max(0.0, end - time.monotonic()))[0]:
                    return None
                data = os.read(self._from.fileno(), 1 << 18)
            except (OSError, ValueError):  # closed meanwhile, by another thread
                break
            if not data:
                if self._closed:
                    break
                raise TargetLost("the line was cut, or trace_pipe on the far side ended")
            lines, newline, self._rest = (self._rest + data).rpartition(b"\n")
            if len(self._rest) > 1 << 20:
                raise TargetLost("the far side sent what makes no sense: a line without an end")
            if newline:
                drained = not select.select([self._from], [], [], 0)[0]
                return Batch((Chunk(-1, lines + newline, text=True),), drained)
        return None

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(OSError, ValueError):
            self._to.close()
        # The far cat holds the instance: wait until it is gone, throwing away what still comes.
        end = time.monotonic() + 5
        with contextlib.suppress(OSError, ValueError):
            while (left := end - time.monotonic()) > 0 and select.select([self._from], [], [], left)[0]:
                if not os.read(self._from.fileno(), 1 << 18):
                    break
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.1, end - time.monotonic()))

    @staticmethod
    def _hello(source: IO[bytes], token: bytes) -> tuple[int, ...]:
        """Process ids of the far shell and its cat; whatever a login prints before is passed over."""
        for _ in range(1000):
            line = source.readline(1 << 12)
            if not line:
                break
            words = line.split()
            if len(words) == 3 and words[0] == token and all(w.isdigit() and len(w) < 11 for w in words[1:]):
                return tuple(int(word) for word in words[1:])
        raise TargetLost("the far side could not start to read trace_pipe")
