"""The text of a trace_pipe through a shell of its own on the far side."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import subprocess
import threading
import time
from collections.abc import Callable

from events.batch import Batch, Chunk
from foreign.text import encoded
from kernel.agent.ring_reader import write_all
from kernel.errors import StreamClosed, TargetLost
from kernel.remote.answer_limit import AnswerLimit
from kernel.remote.protocol.shell_program import STREAM
from kernel.remote.protocol.shell_quote import quote

_PATIENCE = 60.0
"""Seconds for the shell over there to begin."""
_LOOK = 0.2
"""Seconds between two looks whether anybody waits for it any more."""
_NOISE = 1 << 17
"""Bytes that it may print before."""
_WAY_OUT = "it needs a second session of the same connection: look for MaxSessions in the sshd_config there"


class TextStream:
    """Lines of an instance's trace_pipe, through a shell of its own; a `kernel.target.Stream`.

    Nothing is read ahead: where nobody asks, the pipes fill, then the kernel's own ring buffer.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        instance: str,
        loss: Callable[[], str] = str,
        patience: AnswerLimit | None = None,
    ) -> None:
        """Start to read. Raises TargetLost.

        Args:
            process: has a POSIX shell behind its stdin and stdout which reads its script there.
            instance: folder of the instance over there.
            loss: why the shell that works beside it is lost; empty: it is not. Without that one nobody would undo
                anything over there, so its end is that of the stream.
            patience: with the far side; a stream that has not begun when the command is to end is not waited for.
        """
        if process.stdin is None or process.stdout is None:
            raise ValueError("the process needs pipes")
        self._process, self._to, self._from = process, process.stdin, process.stdout
        self._rest = b""
        self.closed = False
        self._lost = ""
        self._loss = loss
        self._patience = patience or AnswerLimit()
        self.heard = time.monotonic()
        """When the last byte came, by time.monotonic()."""
        self._closing = threading.Lock()
        self._reading = threading.Lock()
        token = secrets.token_hex(16)
        script = STREAM + f"t_run {quote(instance)} {token}\n"
        try:
            write_all(self._to.fileno(), encoded(script))
            self.pids = self._hello(self._from.fileno(), token.encode())
        except (OSError, TargetLost) as error:
            self._process.kill()
            self._process.communicate()
            if isinstance(error, TargetLost):
                raise
            raise _no_stream() from None
        """Processes over there that read for us; none once they have ended: another may get the number."""

    def read(self, timeout: float) -> Batch | None:
        end = time.monotonic() + timeout
        with self._reading:
            while not self.closed:
                if why := self._lost or self._loss():
                    raise TargetLost(why)
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

    def _hello(self, source: int, token: bytes) -> tuple[int, ...]:
        """Processes there: the shell, its dd, what waits for our end. What a login prints before is passed over."""
        line, end = bytearray(), time.monotonic() + _PATIENCE
        for _ in range(_NOISE):
            while not (came := select.select([source], [], [], _LOOK)[0]) and time.monotonic() < end:
                if why := self._loss() or "the target was left" * (time.monotonic() >= self._patience.ends):
                    raise TargetLost(f"{why}, before the far side began to read trace_pipe")
            if not came or not (byte := os.read(source, 1)):  # no more: what follows are events
                break
            line += byte
            if byte == b"\n":
                words = line.split()
                if len(words) == 4 and words[0] == token and all(w.isdigit() and len(w) < 11 for w in words[1:]):
                    return tuple(int(word) for word in words[1:])
                line.clear()
        raise _no_stream()


def _no_stream() -> TargetLost:
    return TargetLost("the far side could not start to read trace_pipe", _WAY_OUT)
