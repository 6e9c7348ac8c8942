"""The raw pages of one instance as the agent sends them, pass by pass."""

from __future__ import annotations

import contextlib
import queue
import threading
from typing import Protocol

from events.batch import Batch, Chunk
from foreign.packed import inflate
from kernel.agent import frames
from kernel.errors import FileRefused, StreamClosed, TargetLost

MAX_FRAME = 32 << 20
"""Bytes of one frame, packed or not."""
_SOON = 0.03
"""Seconds a stream waits before it asks the far side to look."""


class PageClient(Protocol):
    """What a stream needs of `kernel.remote.protocol.agent_client.AgentClient`."""

    performed: int

    def request(self, op: int, *fields: bytes) -> list[bytes]: ...
    def post(self, ident: int, op: int, *fields: bytes) -> None: ...
    def forget(self, ident: int) -> None: ...
    def check(self) -> None: ...


class AgentStream:
    """Raw pages of one instance; a `kernel.target.Stream`."""

    def __init__(self, line: PageClient, ident: int, window: int) -> None:
        self._line, self._ident, self._window = line, ident, window
        self._passes: queue.SimpleQueue[tuple[Batch, int] | None] = queue.SimpleQueue()
        self._owed = 0
        self._came = self._read = 0  # bytes; each is counted by one thread only
        self._sure = line.performed
        self._behind = False  # the pass that came last did not empty the buffers
        self._closed = False
        self._closing = threading.Lock()

    def read(self, timeout: float) -> Batch | None:
        """As `kernel.target.Stream`. Once something was performed on this line (a probe switched off, say), None and
        `drained` are only said when the far side has looked again since: they hold for all that came before. Nor is
        None said while a slow far side has more to send than its last pass brought.
        """
        sure = self._line.performed == self._sure
        taken = self._get(timeout if sure else min(timeout, _SOON))
        mark = self._line.performed
        sure = mark == self._sure  # something may have been performed while this waited
        if taken is None and (self._behind or not sure):
            with contextlib.suppress(FileRefused):  # closed meanwhile
                if self._line.request(frames.SYNC, b"%d" % self._ident) == [b"1"]:
                    self._sure = mark
            taken = self._get(0)
        if taken is None:
            return None
        batch, size = taken
        self._behind = not batch.drained
        self._owed += size
        self._read += size
        if self._owed >= self._window // 8 and not self._closed:
            self._line.post(0, frames.CREDIT, b"%d" % self._ident, b"%d" % self._owed)
            self._owed = 0
        return batch if sure else batch._replace(drained=False)

    def _get(self, timeout: float) -> tuple[Batch, int] | None:
        """The next pass; None: not in time. Raises TargetLost, StreamClosed where none can come any more."""
        try:
            taken = self._passes.get(timeout=timeout) if timeout > 0 else self._passes.get_nowait()
        except queue.Empty:
            return None
        if taken is None:
            self._passes.put(None)  # for whoever comes next
            if self._closed:
                raise StreamClosed
            self._line.check()
        return taken

    def close(self) -> None:
        with self._closing:  # whoever comes second may count on it too that the buffers are let go
            if not self._closed:
                self._closed = True
                self._line.forget(self._ident)
                self.put(None)
                with contextlib.suppress(TargetLost):
                    self._line.request(frames.STOP, b"%d" % self._ident)

    def put(self, taken: tuple[Batch, int] | None) -> None:
        self._passes.put(taken)

    def take(self, fields: list[bytes]) -> None:
        """A pass as it came: drained, raw bytes of pages, flag, body."""
        drained, raw, flag, body = fields
        size = number([raw])
        self._came += size
        if self._came - self._read > self._window + MAX_FRAME:
            raise ValueError("more pages than were asked for")
        pages = frames.unpack(expand(flag, body, MAX_FRAME))
        chunks = tuple(Chunk(number([cpu]), data) for cpu, data in zip(pages[::2], pages[1::2], strict=True))
        if sum(len(chunk.data) for chunk in chunks) != size:
            raise ValueError("a pass that lies about its size")
        self.put((Batch(chunks, drained == b"1"), size))


def expand(flag: bytes, data: bytes, limit: int) -> bytes:
    """What `frames.squeeze` made, of at most `limit` bytes. Raises ValueError."""
    if flag == b"z":
        return inflate(data, "", limit)
    if len(data) > limit:
        raise ValueError("more bytes than were asked for")
    return data


def number(fields: list[bytes]) -> int:
    """The one decimal field. Raises ValueError."""
    if len(fields) != 1:
        raise ValueError("a number is missing")
    return frames.number(fields[0])
