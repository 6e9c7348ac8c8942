"""Speak the agent's protocol from our side: match requests with answers, and pass batches to their streams.

One reader thread takes frames as they arrive; requests are sent from any thread. A broken connection or a malformed
frame loses the target: every waiting and every later request and stream raises TargetLost with the reason.
"""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import os
import subprocess
import threading
import time
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from kernel.agent import frames
from kernel.errors import FileRefused, TargetLost
from kernel.remote.answer_limit import CHECK_INTERVAL, AnswerLimit, write_with_checks
from kernel.remote.heartbeat import start_heartbeat
from kernel.remote.protocol.page_stream import MAX_FRAME, AgentStream, expand, number

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

WINDOW = 1 << 20
"""Bytes of raw pages that may be in flight: bounds memory, and the delay of answers on a slow connection."""
SILENCE = 120
"""Seconds without a request from us after which the agent undoes and ends."""
_MOST_TASKS = 8
"""Threads of an agent that are taken from its greeting."""
_FAREWELL = 3.0
"""Seconds that the remote host may take to close the connection."""


class _Reply:
    def __init__(self) -> None:
        self.asked = time.monotonic()
        self.done = threading.Event()
        self.parts: list[bytes] = []
        self.size = 0
        self.limit = 0
        self.fields: list[bytes] = []
        self.errno = 0


class AgentClient:
    """Connection with one agent: frames to and from it."""

    def __init__(self, process: subprocess.Popen[bytes], silence: int = SILENCE) -> None:
        """Connect to the agent behind stdin and stdout of `process` (bufsize=0), its source already sent. Raises
        TargetLost.
        """
        if process.stdin is None or process.stdout is None:
            raise ValueError("the process needs pipes")
        self._to = process.stdin
        # The reader has a descriptor of its own: once closed by somebody else, its number could be a later
        # connection's.
        self._raw = _RemoteOutput(os.dup(process.stdout.fileno()))
        self._from = io.BufferedReader(self._raw, 1 << 18)
        self._sending = threading.Lock()
        self._ids = itertools.count(1)
        self._replies: dict[int, _Reply] = {}
        self._streams: dict[int, AgentStream] = {}
        self._lost = ""
        self.answer_limit = AnswerLimit()
        self._silence = silence
        self._quiet = threading.Event()
        self.performed = 0
        """Effects performed so far; a stream compares it with the count at its last synchronisation."""
        hello = self._replies[0] = _Reply()
        self._reader = threading.Thread(target=self._run, name="agent reader", daemon=True)
        self._reader.start()
        answer = self._wait(0, hello)
        try:
            self.pid = number(answer.fields[1:2])
            self.tasks = tuple(number([task]) for task in answer.fields[3 : 3 + _MOST_TASKS])
        except ValueError:
            self.lose("unexpected reply from the remote host in place of the agent's greeting")
            raise TargetLost(self._lost) from None
        self._ping()
        threading.Thread(target=self._keep_talking, name="agent pulse", daemon=True).start()

    @property
    def last_received(self) -> float:
        """Time of the last byte from the remote host, by time.monotonic()."""
        return self._raw.last_received

    @property
    def unanswered(self) -> float | None:
        """Time at which the oldest unanswered request was sent, by time.monotonic(); None: there is none, or the
        connection is lost.
        """
        return min((reply.asked for reply in list(self._replies.values()) if not reply.done.is_set()), default=None)

    @property
    def loss(self) -> str:
        """Reason why the connection is lost; empty: it works."""
        return self._lost

    def request(self, op: int, *fields: bytes, path: str = "") -> list[bytes]:
        """Send a request and return the fields of its answer. Raises FileRefused for `path`, TargetLost."""
        answer = self._finish(self.submit(op, *fields), path)
        if op in (frames.PERFORM, frames.BPF):
            self.performed += 1
        return answer.fields

    def fetch(self, op: int, *fields: bytes, path: str, limit: int) -> bytes:
        """Send a request and return an answer that arrives in parts, of at most `limit` bytes. Raises as `request`
        does.
        """
        return b"".join(self._finish(self.submit(op, *fields, limit=limit), path).parts)

    def fetch_all(self, op: int, paths: Sequence[tuple[str, bytes]], limit: int) -> dict[str, bytes | FileRefused]:
        """Fetch many paths (as text and as bytes) at once. Raises TargetLost."""
        sent = [(path, self.submit(op, raw, b"%d" % limit, limit=limit)) for path, raw in paths]
        contents: dict[str, bytes | FileRefused] = {}
        for path, waiting in sent:
            try:
                contents[path] = b"".join(self._finish(waiting, path).parts)
            except FileRefused as error:
                contents[path] = error
        return contents

    def submit(self, op: int, *fields: bytes, limit: int = 0) -> tuple[int, _Reply]:
        """Send a request without waiting: requests may be pipelined."""
        ident, reply = next(self._ids), _Reply()
        reply.limit = limit
        self._replies[ident] = reply
        self.post(ident, op, *fields)
        return ident, reply

    def tell(self, op: int, *fields: bytes) -> None:
        """Send a request that can't fail, without waiting for its answer; the agent handles it before the next
        request.
        """
        self.post(next(self._ids), op, *fields)

    def post(self, ident: int, op: int, *fields: bytes) -> None:
        """Send one frame. Raises TargetLost."""
        data = frames.frame(ident, op, *fields)
        if len(data) > frames.MAX_REQUEST:
            raise ValueError("a request of this size is none of ours")
        with self._sending:
            if self._lost:
                raise TargetLost(self._lost)
            try:
                write_with_checks(self._to.fileno(), data, self._check_writing)
            except (OSError, ValueError):
                self.lose("the connection was lost")
        if self._lost:
            raise TargetLost(self._lost)

    def open_stream(self, instance: bytes, window: int = WINDOW) -> AgentStream:
        ident, reply = next(self._ids), _Reply()
        stream = AgentStream(self, ident, window)
        self._streams[ident], self._replies[ident] = stream, reply
        try:
            self.post(ident, frames.STREAM, instance, b"%d" % window)
            self._finish((ident, reply), instance.decode("utf-8", "surrogateescape"))
        except BaseException:
            self._streams.pop(ident, None)
            raise
        start_heartbeat(
            self._ping, lambda: self.last_received, lambda: ident not in self._streams or bool(self._lost)
        )
        return stream

    def forget(self, ident: int) -> None:
        self._streams.pop(ident, None)

    def close(self) -> None:
        """Make the agent undo and end. Safe to call twice."""
        self._quiet.set()
        self.answer_limit.set_deadline(time.monotonic())
        with contextlib.suppress(TargetLost):
            self.request(frames.BYE)
        self.lose("closed")
        # Locked, so that nobody writes to a descriptor number that another connection got meanwhile.
        acquired = self._sending.acquire(timeout=_FAREWELL)
        with contextlib.suppress(OSError, ValueError):
            self._to.close()
        if acquired:
            self._sending.release()
        self._reader.join(_FAREWELL)

    def check(self) -> None:
        """Raise TargetLost if the connection is lost."""
        if self._lost:
            raise TargetLost(self._lost)

    def _finish(self, waiting: tuple[int, _Reply], path: str) -> _Reply:
        reply = self._wait(*waiting)
        if reply.errno:
            raise FileRefused(path, reply.errno)
        return reply

    def _wait(self, ident: int, reply: _Reply) -> _Reply:
        try:
            size, progress = 0, reply.asked
            while not reply.done.wait(CHECK_INTERVAL):
                self.check()
                if reply.size != size:  # a long answer on a slow connection
                    size, progress = reply.size, time.monotonic()
                self._check_patience(reply.asked, progress)
        finally:
            self._replies.pop(ident, None)
        if reply.errno < 0:
            raise TargetLost(self._lost)
        return reply

    def _check_writing(self, last: float) -> None:
        """Raise TargetLost if the connection is lost, or if writing a frame exceeds the limit of waiting."""
        self.check()
        self._check_patience(last, last)
        self.check()

    def _check_patience(self, asked: float, progress: float) -> None:
        """Lose the connection if the limit of waiting for an answer is exceeded."""
        waited = self.answer_limit.exhausted(time.monotonic(), asked, progress, self.last_received)
        if waited is not None:
            self.lose(f"the remote host did not answer for {waited:.0f} s")

    def _ping(self) -> None:
        self.request(frames.PING, b"%d" % self._silence)

    def _keep_talking(self) -> None:
        with contextlib.suppress(TargetLost):
            while not self._quiet.wait(self._silence / 6):
                self._ping()

    def lose(self, reason: str) -> None:
        """Give up the connection for a reason; callers waiting for an answer get TargetLost."""
        self._lost = self._lost or reason
        self._quiet.set()
        for reply in list(self._replies.values()):
            reply.errno = -1
            reply.done.set()
        for stream in list(self._streams.values()):
            stream.put(None)

    def _run(self) -> None:
        """Read frames until the connection ends; body of the reader thread."""
        try:
            while True:
                size, ident, op = frames.HEAD.unpack(_read_exactly(self._from, frames.HEAD.size))
                if size > MAX_FRAME:
                    raise ValueError(f"a frame of {size} bytes")
                self._take(ident, op, frames.unpack(_read_exactly(self._from, size)))
        except EOFError:
            self.lose("the connection was lost, or the agent on the remote host ended")
        except (ValueError, IndexError) as error:
            self.lose(f"unexpected reply from the remote host: {error}")
        except OSError as error:
            self.lose(f"the connection was lost: {error.strerror}")
        finally:
            self._from.close()

    def _take(self, ident: int, op: int, fields: list[bytes]) -> None:
        """Handle one frame from the agent. Raises ValueError and IndexError if it is malformed."""
        if op == frames.PASS:
            stream = self._streams.get(ident)
            if stream is not None:  # else closed meanwhile
                stream.take(fields)
            return
        reply = self._replies.get(ident)
        if reply is None:
            return
        if op == frames.MORE:
            part = expand(fields[0], fields[1], min(frames.PART, reply.limit - reply.size))
            reply.parts.append(part)
            reply.size += len(part)
            return
        if op == frames.ERROR:
            reply.errno = number(fields[:1]) or errno.EIO
        elif op == frames.OK:
            reply.fields = fields
        else:
            raise ValueError(f"op {op}")
        reply.done.set()


class _RemoteOutput(io.FileIO):
    """Output of the remote host, with the time of its last byte."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self.last_received = time.monotonic()

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        size = super().readinto(buffer)
        if size:
            self.last_received = time.monotonic()
        return size


def _read_exactly(source: IO[bytes], size: int) -> bytes:
    data = source.read(size)
    if len(data) < size:
        raise EOFError
    return data
