"""The text of a trace_pipe through a shell of its own on the far side."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import subprocess
import threading
import time

from events.batch import Batch, Chunk
from foreign.text import encoded
from kernel.drain import write_all
from kernel.errors import StreamClosed, TargetLost
from kernel.quote import quote
from kernel.shell_program import STREAM

_PATIENCE = 60.0
"""Seconds for the shell over there to begin."""
_NOISE = 1 << 17
"""Bytes that it may print before."""
_WAY_OUT = "it needs a second session of the same connection: look for MaxSessions in the sshd_config there"


class TextStream:
    """Lines of an instance's trace_pipe, through a shell of its own; a `kernel.target.Stream`.

    Nothing is read ahead: where nobody asks, the pipes fill, then the kernel's own ring buffer.
    """

    def __init__(self, process: subprocess.Popen[bytes], instance: str) -> None:
        if process.stdin is None or process.stdout is None:
            raise ValueError("the process needs pipes")
        self._process, self._to, self._from = process, process.stdin, process.stdout
        self._rest = b""
        self.closed = False
        self._lost = ""
        self.heard = time.monotonic()
        """When the last byte came, by time.monotonic()."""
        self._closing = threading.Lock()
        self._reading = threading.Lock()
        token = secrets.token_hex(16)
        script = STREAM + f"t_run {quote(instance)} {token}\n"
        try:
            write_all(self._to.fileno(), encoded(script))
            self.pids = self._hello(self._from.fileno(), token.encode())
        except (OSError, TargetLost):
            self._process.kill()
            self._process.communicate()
            raise TargetLost("the far side could not start to read trace_pipe", _WAY_OUT) from None
        """Processes over there that read for us; none once they have ended: another may get the number."""

    def read(self, timeout: float) -> Batch | None:
        end = time.monotonic() + timeout
        with self._reading:
            while not self.closed:
                if self._lost:
                    raise TargetLost(self._lost)
                if not select.select([self._from], [], [], max(0.0, end - time.monotonic()))[0]:
                    return None
                data = os.read(self._from.fileno(), 1 << 18)
                if not data and not self.closed:
                    self.pids = ()
                    raise TargetLost("the line was cut, or trace_pipe on the far side ended")
                self.heard = time.monotonic()
                lines, newline, self._rest = (self._rest + data).rpartition(b"\n")
                if len(self._rest) > 1 << 20:
                    raise TargetLost("the far side sent what makes no sense: a line without an end")
                if newline:
                    # Nobody can tell here whether the kernel has more; that nothing comes for a while says it.
                    return Batch((Chunk(-1, lines + newline, text=True),), drained=False)
        raise StreamClosed

    def lose(self, why: str) -> None:
        """Give the line up, for a reason: the next `read` raises TargetLost."""
        self._lost = self._lost or why

    def close(self) -> None:
        with self._closing:  # whoever comes second may count on it too that the buffers are let go
            if not self.closed:
                self.closed = True
                self._end()
                self.pids = ()

    def _end(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._to.close()
        # The far dd holds the instance: wait until it is gone, throwing away what still comes.
        end = time.monotonic() + 5
        with contextlib.suppress(OSError, ValueError):
            while (left := end - time.monotonic()) > 0 and select.select([self._from], [], [], left)[0]:
                if not os.read(self._from.fileno(), 1 << 18):
                    break
        try:
            self._process.wait(max(0.5, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with self._reading:  # which the end of the process has woken
            self._from.close()

    @staticmethod
    def _hello(source: int, token: bytes) -> tuple[int, ...]:
        """Processes there: the shell, its dd, what waits for our end. What a login prints before is passed over."""
        line, end = bytearray(), time.monotonic() + _PATIENCE
        for _ in range(_NOISE):
            if not select.select([source], [], [], max(0.0, end - time.monotonic()))[0]:
                break
            if not (byte := os.read(source, 1)):  # no more: what follows are events
                break
            line += byte
            if byte == b"\n":
                words = line.split()
                if len(words) == 4 and words[0] == token and all(w.isdigit() and len(w) < 11 for w in words[1:]):
                    return tuple(int(word) for word in words[1:])
                line.clear()
        raise TargetLost("it does not say which processes read")
