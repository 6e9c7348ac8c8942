"""The near end of the agent's line: requests matched with answers, streams with their passes.

One reader thread takes frames as they come; requests come from any thread. Whatever breaks the line or makes no sense
loses the target: every request and stream that waits, and every later one, raises TargetLost with the reason.
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
from kernel.remote.answer_limit import LOOK, AnswerLimit, write_patiently
from kernel.remote.heartbeat import keep_asking
from kernel.remote.protocol.page_stream import MAX_FRAME, AgentStream, expand, number

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

WINDOW = 1 << 20
"""Bytes of raw pages that may be under way: what a slow line delays an answer by, and a bound for memory."""
SILENCE = 120
"""Seconds without a word from us after which the agent undoes and ends."""
_FAREWELL = 3.0
"""Seconds the far side may take to hang up."""


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
    """Frames to and from one agent."""

    def __init__(self, process: subprocess.Popen[bytes], silence: int = SILENCE) -> None:
        """`process` has the agent behind its stdin and stdout (bufsize=0), its source sent. Raises TargetLost."""
        if process.stdin is None or process.stdout is None:
            raise ValueError("the process needs pipes")
        self._to = process.stdin
        # The reader's own: of a number that somebody closes it could read what a later line gets.
        self._raw = _Source(os.dup(process.stdout.fileno()))
        self._from = io.BufferedReader(self._raw, 1 << 18)
        self._sending = threading.Lock()
        self._ids = itertools.count(1)
        self._replies: dict[int, _Reply] = {}
        self._streams: dict[int, AgentStream] = {}
        self._lost = ""
        self.patience = AnswerLimit()
        self._silence = silence
        self._quiet = threading.Event()
        self.performed = 0
        """Effects so far; a stream looks whether what it says is older."""
        hello = self._replies[0] = _Reply()
        self._reader = threading.Thread(target=self._run, name="agent line", daemon=True)
        self._reader.start()
        answer = self._wait(0, hello)
        try:
            self.pid = number(answer.fields[1:2])
            self.tasks = tuple(number([task]) for task in answer.fields[3:5])
        except ValueError:
            self.lose("the far side sent what makes no sense instead of its hello")
            raise TargetLost(self._lost) from None
        self._ping()
        threading.Thread(target=self._keep_talking, name="agent pulse", daemon=True).start()

    @property
    def heard(self) -> float:
        """When the last byte of the far side came, by time.monotonic()."""
        return self._raw.heard

    @property
    def unanswered(self) -> float | None:
        """When the oldest request was sent that has no answer yet, by time.monotonic(); None: all have, or the line
        is lost.
        """
        return min((reply.asked for reply in list(self._replies.values()) if not reply.done.is_set()), default=None)

    @property
    def loss(self) -> str:
        """Reason why the line is lost; empty: it stands."""
        return self._lost

    def request(self, op: int, *fields: bytes, path: str = "") -> list[bytes]:
        """One request and its answer's fields. Raises FileRefused for `path`, TargetLost."""
        answer = self._finish(self.submit(op, *fields), path)
        if op == frames.PERFORM:
            self.performed += 1
        return answer.fields

    def fetch(self, op: int, *fields: bytes, path: str, limit: int) -> bytes:
        """As `request`, for an answer that comes in parts, of at most `limit` bytes."""
        return b"".join(self._finish(self.submit(op, *fields, limit=limit), path).parts)

    def fetch_all(self, op: int, paths: Sequence[tuple[str, bytes]], limit: int) -> dict[str, bytes | FileRefused]:
        """As `fetch`, for many paths (as text and as bytes) at once. Raises TargetLost."""
        sent = [(path, self.submit(op, raw, b"%d" % limit, limit=limit)) for path, raw in paths]
        found: dict[str, bytes | FileRefused] = {}
        for path, waiting in sent:
            try:
                found[path] = b"".join(self._finish(waiting, path).parts)
            except FileRefused as error:
                found[path] = error
        return found

    def submit(self, op: int, *fields: bytes, limit: int = 0) -> tuple[int, _Reply]:
        """Send a request without waiting: requests may be pipelined."""
        ident, reply = next(self._ids), _Reply()
        reply.limit = limit
        self._replies[ident] = reply
        self.post(ident, op, *fields)
        return ident, reply

    def tell(self, op: int, *fields: bytes) -> None:
        """A request that can't fail, so that nobody waits for its answer; the next one finds it done."""
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
                write_patiently(self._to.fileno(), data, self._check_writing)
            except (OSError, ValueError):
                self.lose("the line was cut")
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
        keep_asking(self._ping, lambda: self.heard, lambda: ident not in self._streams or bool(self._lost))
        return stream

    def forget(self, ident: int) -> None:
        self._streams.pop(ident, None)

    def close(self) -> None:
        """Have the agent undo and end. Safe to call twice."""
        self._quiet.set()
        self.patience.hurry(time.monotonic())
        with contextlib.suppress(TargetLost):
            self.request(frames.BYE)
        self.lose("closed")
        free = self._sending.acquire(timeout=_FAREWELL)  # so that nobody writes into a number that another line got
        with contextlib.suppress(OSError, ValueError):
            self._to.close()
        if free:
            self._sending.release()
        self._reader.join(_FAREWELL)

    def check(self) -> None:
        """Raises TargetLost when the line is."""
        if self._lost:
            raise TargetLost(self._lost)

    def _finish(self, sent: tuple[int, _Reply], path: str) -> _Reply:
        reply = self._wait(*sent)
        if reply.errno:
            raise FileRefused(path, reply.errno)
        return reply

    def _wait(self, ident: int, reply: _Reply) -> _Reply:
        try:
            size, progress = 0, reply.asked
            while not reply.done.wait(LOOK):
                self.check()
                if reply.size != size:  # a long answer on a slow line
                    size, progress = reply.size, time.monotonic()
                self._check_patience(reply.asked, progress)
        finally:
            self._replies.pop(ident, None)
        if reply.errno < 0:
            raise TargetLost(self._lost)
        return reply

    def _check_writing(self, last: float) -> None:
        """Raises TargetLost where a frame can't be written: what was lost meanwhile, or after too long a time."""
        self.check()
        self._check_patience(last, last)
        self.check()

    def _check_patience(self, asked: float, progress: float) -> None:
        """Lose the line where an answer was waited for long enough."""
        waited = self.patience.exhausted(time.monotonic(), asked, progress, self.heard)
        if waited is not None:
            self.lose(f"the far side gave no answer for {waited:.0f} s")

    def _ping(self) -> None:
        self.request(frames.PING, b"%d" % self._silence)

    def _keep_talking(self) -> None:
        with contextlib.suppress(TargetLost):
            while not self._quiet.wait(self._silence / 6):
                self._ping()

    def lose(self, why: str) -> None:
        """Give the line up, for a reason; whoever waits for an answer gets TargetLost."""
        self._lost = self._lost or why
        self._quiet.set()
        for reply in list(self._replies.values()):
            reply.errno = -1
            reply.done.set()
        for stream in list(self._streams.values()):
            stream.put(None)

    def _run(self) -> None:
        """The reader thread."""
        try:
            while True:
                size, ident, op = frames.HEAD.unpack(_exactly(self._from, frames.HEAD.size))
                if size > MAX_FRAME:
                    raise ValueError(f"a frame of {size} bytes")
                self._take(ident, op, frames.unpack(_exactly(self._from, size)))
        except EOFError:
            self.lose("the line was cut, or the agent on the far side ended")
        except (ValueError, IndexError) as error:
            self.lose(f"the far side sent what makes no sense: {error}")
        except OSError as error:
            self.lose(f"the line was cut: {error.strerror}")
        finally:
            self._from.close()

    def _take(self, ident: int, op: int, fields: list[bytes]) -> None:
        """One frame from the agent. Raises ValueError and IndexError for one that makes no sense."""
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


class _Source(io.FileIO):
    """The far side's output, with the time of its last byte."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self.heard = time.monotonic()

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        size = super().readinto(buffer)
        if size:
            self.heard = time.monotonic()
        return size


def _exactly(source: IO[bytes], size: int) -> bytes:
    data = source.read(size)
    if len(data) < size:
        raise EOFError
    return data
