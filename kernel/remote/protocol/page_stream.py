"""Receive the raw ring-buffer pages of one instance from the agent, batch by batch."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Sequence
from typing import Protocol

from events.batch import Batch, Chunk
from foreign.packed import inflate
from kernel.agent import frames
from kernel.errors import FileRefused, StreamClosed, TargetLost
from kernel.target import AnyRecord, RingMap, record_place, record_text

MAX_FRAME = 32 << 20
"""Bytes of one frame, compressed or not."""
_SOON = 0.03
"""Seconds a stream waits before it asks the agent to read the buffers again."""


class PageClient(Protocol):
    """Methods of `kernel.remote.protocol.agent_client.AgentClient` that a stream uses."""

    performed: int

    def request(self, op: int, *fields: bytes, path: str = "") -> list[bytes]: ...
    def post(self, ident: int, op: int, *fields: bytes) -> None: ...
    def forget(self, ident: int) -> None: ...
    def check(self) -> None: ...


class AgentStream:
    """Raw ring-buffer pages of one instance; a `kernel.target.Stream`."""

    def __init__(self, client: PageClient, ident: int, window: int) -> None:
        self._client, self._ident, self._window = client, ident, window
        self._passes: queue.SimpleQueue[tuple[Batch, int] | None] = queue.SimpleQueue()
        self._owed = 0
        self._received_bytes = self._consumed_bytes = 0  # bytes; each is counted by one thread only
        self._required = 0
        self._synced = self._wanted
        """`_wanted` when the agent was last asked and had read its buffers."""
        self._behind = False  # the last batch did not empty the buffers
        self._has_more = False
        """True until the agent has read the buffers again after its last batch, and found nothing."""
        self._closed = False
        self._closing = threading.Lock()

    def read(self, timeout: float) -> Batch | None:
        """Wait up to `timeout` seconds for a batch; see `kernel.target.Stream`.

        After an effect on this connection (a probe disabled, say) and after `require_answer`, None and `drained` are
        returned only once the agent has read the buffers again: they hold for all earlier events. None is not
        returned either before it has read them again after its last batch: that may have events of one CPU that are
        younger than some of another, which a slow remote host sends late.
        """
        synced = self._wanted == self._synced
        item = self._get(timeout if synced else min(timeout, _SOON))
        wanted = self._wanted
        synced = wanted == self._synced  # an effect may have been performed meanwhile
        if item is None and (self._behind or not synced):
            with contextlib.suppress(FileRefused):  # closed meanwhile
                if self._client.request(frames.SYNC, b"%d" % self._ident) == [b"1"]:
                    self._synced = wanted
                    self._behind = self._has_more = False
            item = self._get(0)
        if item is None:
            return Batch((), drained=False) if self._has_more else None
        batch, size = item
        self._behind, self._has_more = not batch.drained, bool(batch.chunks)
        self._owed += size
        self._consumed_bytes += size
        if self._owed >= self._window // 8 and not self._closed:
            self._client.post(0, frames.CREDIT, b"%d" % self._ident, b"%d" % self._owed)
            self._owed = 0
        if not synced:
            return batch._replace(drained=False)
        return batch if batch.chunks else None

    def _get(self, timeout: float) -> tuple[Batch, int] | None:
        """Return the next batch and its bytes; None: timeout. Raises TargetLost, StreamClosed if none can arrive any
        more.
        """
        try:
            item = self._passes.get(timeout=timeout) if timeout > 0 else self._passes.get_nowait()
        except queue.Empty:
            return None
        if item is None:
            self._passes.put(None)  # for the next reader
            if self._closed:
                raise StreamClosed
            self._client.check()
        return item

    @property
    def _wanted(self) -> tuple[int, int]:
        """Effects performed and answers required so far: the agent has to read the buffers after them."""
        return self._client.performed, self._required

    def require_answer(self) -> bool:
        self._required += 1
        return True

    def add_rings(self, number: int, record: AnyRecord, maps: Sequence[RingMap]) -> None:
        fields = [b"%d" % one for ring in maps for one in (ring.cpu, ring.fd, ring.size)]
        self._client.request(
            frames.RINGS, b"%d" % self._ident, b"%d" % number, record_text(record), *fields, path=record_place(record)
        )

    def remove_rings(self, number: int) -> None:
        self._client.request(frames.RINGS, b"%d" % self._ident, b"%d" % number, b"0")

    def close(self) -> None:
        with self._closing:  # a second caller, too, may rely on the buffers being closed
            if not self._closed:
                self._closed = True
                self._client.forget(self._ident)
                self.put(None)
                with contextlib.suppress(TargetLost):
                    self._client.request(frames.STOP, b"%d" % self._ident)

    def put(self, item: tuple[Batch, int] | None) -> None:
        self._passes.put(item)

    def take(self, fields: list[bytes]) -> None:
        """Queue a batch from its frame fields: drained, raw bytes of pages, compression flag, body. Raises
        ValueError.
        """
        drained, raw, flag, body = fields
        size = number([raw])
        self._received_bytes += size
        if self._received_bytes - self._consumed_bytes > self._window + MAX_FRAME:
            raise ValueError("more pages than were asked for")
        pages = frames.unpack(expand(flag, body, MAX_FRAME))
        chunks = tuple(_chunk(key, data) for key, data in zip(pages[::2], pages[1::2], strict=True))
        if sum(len(chunk.data) for chunk in chunks) != size:
            raise ValueError("a pass that lies about its size")
        self.put((Batch(chunks, drained == b"1"), size))


def _chunk(key: bytes, data: bytes) -> Chunk:
    """Return the data of a CPU, or of its BPF ring buffer: `CPU/NUMBER`, and `/` where a record is being written.
    Raises ValueError.
    """
    cpu, _, ring = key.partition(b"/")
    name, slash, _ = ring.partition(b"/")
    return Chunk(number([cpu]), data, ring=number([name]) if ring else 0, is_being_written=bool(slash))


def expand(flag: bytes, data: bytes, limit: int) -> bytes:
    """Undo `frames.squeeze`; at most `limit` bytes. Raises ValueError."""
    if flag == b"z":
        return inflate(data, "", limit)
    if len(data) > limit:
        raise ValueError("more bytes than were asked for")
    return data


def number(fields: list[bytes]) -> int:
    """Return the only field as a decimal number. Raises ValueError."""
    if len(fields) != 1:
        raise ValueError("a number is missing")
    return frames.number(fields[0])
