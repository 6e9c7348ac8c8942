"""Read the text of a trace_pipe through a remote shell of its own."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import select
import subprocess
import threading
import time
from collections.abc import Callable, Sequence

from events.batch import Batch, Chunk
from foreign.text import encode_text
from kernel.agent.ring_reader import write_all
from kernel.errors import FileRefused, StreamClosed, TargetLost
from kernel.remote.answer_limit import AnswerLimit
from kernel.remote.protocol.shell_program import STREAM
from kernel.remote.protocol.shell_quote import quote
from kernel.target import AnyRecord, RingMap

_PATIENCE = 60.0
"""Seconds in which the remote shell must start reading."""
_LOOK = 0.2
"""Seconds between two checks for lost or closed connections."""
_NOISE = 1 << 17
"""Bytes of login output accepted before the shell answers."""
_WAY_OUT = "it needs a second session of the same connection: look for MaxSessions in the sshd_config there"


class TextStream:
    """Text lines of an instance's trace_pipe, read through a shell of its own; a `kernel.target.Stream`.

    No data is read ahead: without `read` the pipes fill, then the kernel's own ring buffer.
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
            instance: folder of the trace instance on the remote host.
            loss: returns why the working shell's connection is lost; empty: it works. The end of that shell ends the
                stream too, since only that shell undoes effects.
            patience: limit of waiting for the remote host; a stream that has not begun when the command is to end is
                not waited for.
        """
        if process.stdin is None or process.stdout is None:
            raise ValueError("the process needs pipes")
        self._process, self._to, self._from = process, process.stdin, process.stdout
        self._rest = b""
        self.closed = False
        self._lost = ""
        self._loss = loss
        self._patience = patience or AnswerLimit()
        self.last_received = time.monotonic()
        """Time of the last byte, by time.monotonic()."""
        self._closing = threading.Lock()
        self._reading = threading.Lock()
        token = secrets.token_hex(16)
        script = STREAM + f"t_run {quote(instance)} {token}\n"
        try:
            write_all(self._to.fileno(), encode_text(script))
            self.pids = self._hello(self._from.fileno(), token.encode())
        except (OSError, TargetLost) as error:
            self._process.kill()
            self._process.communicate()
            if isinstance(error, TargetLost):
                raise
            raise _no_stream() from None
        """Remote processes that read for us; empty once they have ended, as their numbers may be reused."""

    def read(self, timeout: float) -> Batch | None:
        end = time.monotonic() + timeout
        with self._reading:
            while not self.closed:
                if reason := self._lost or self._loss():
                    raise TargetLost(reason)
                if not select.select([self._from], [], [], max(0.0, end - time.monotonic()))[0]:
                    return None
                data = os.read(self._from.fileno(), 1 << 18)
                if not data and not self.closed:
                    self.pids = ()
                    raise TargetLost("the connection was lost, or trace_pipe on the remote host ended")
                self.last_received = time.monotonic()
                lines, newline, self._rest = (self._rest + data).rpartition(b"\n")
                if len(self._rest) > 1 << 20:
                    raise TargetLost("unexpected reply from the remote host: a line without an end")
                if newline:
                    # Unknown here whether the kernel has more; only the absence of data for a while shows the end.
                    return Batch((Chunk(-1, lines + newline, text=True),), drained=False)
        raise StreamClosed

    def lose(self, reason: str) -> None:
        """Give up the connection for a reason: the next `read` raises TargetLost."""
        self._lost = self._lost or reason

    def require_answer(self) -> bool:
        return False

    def add_rings(self, number: int, record: AnyRecord, maps: Sequence[RingMap]) -> None:  # noqa: ARG002
        """Raise FileRefused: a shell maps no memory."""
        raise FileRefused("bpf(2)", errno.ENOSYS)

    def remove_rings(self, number: int) -> None:
        """Return without effect, as there are none."""

    def close(self) -> None:
        with self._closing:  # a second caller, too, may rely on the buffers being closed
            if not self.closed:
                self.closed = True
                self._end()
                self.pids = ()

    def _end(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._to.close()
        # The remote dd holds the instance: wait until it is gone, discarding its output.
        end = time.monotonic() + 5
        with contextlib.suppress(OSError, ValueError):
            while (remaining := end - time.monotonic()) > 0 and select.select([self._from], [], [], remaining)[0]:
                if not os.read(self._from.fileno(), 1 << 18):
                    break
        try:
            self._process.wait(max(0.5, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with self._reading:  # released by the reader when the process ends
            self._from.close()

    def _hello(self, source: int, token: bytes) -> tuple[int, ...]:
        """Skip login output; return the remote processes: shell, dd, and the one that waits for our end."""
        line, end = bytearray(), time.monotonic() + _PATIENCE
        for _ in range(_NOISE):
            while not (ready := select.select([source], [], [], _LOOK)[0]) and time.monotonic() < end:
                if reason := self._loss() or "the target was left" * (time.monotonic() >= self._patience.ends):
                    raise TargetLost(f"{reason}, before the remote host began to read trace_pipe")
            if not ready or not (byte := os.read(source, 1)):  # no more bytes: what follows are events
                break
            line += byte
            if byte == b"\n":
                words = line.split()
                if len(words) == 4 and words[0] == token and all(w.isdigit() and len(w) < 11 for w in words[1:]):
                    return tuple(int(word) for word in words[1:])
                line.clear()
        raise _no_stream()


def _no_stream() -> TargetLost:
    return TargetLost("the remote host could not start to read trace_pipe", _WAY_OUT)
