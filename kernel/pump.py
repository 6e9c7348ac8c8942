"""Transfer batches from a stream to its readers in a thread of its own; never decodes."""

from __future__ import annotations

import math
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from events.batch import GAP, Batch, Chunk
from kernel.errors import KernelError, TargetLost
from kernel.target import Stream

Entry = TypeVar("Entry")
_PATIENCE = 0.2
"""Seconds one read waits; bounds the wait of settle() on a stream without data."""


_SWITCH = 0.0005
"""Seconds after which Python switches threads. This thread releases the interpreter lock at each read, the screen's
at each longer step of numpy: with the usual 5 ms both would mostly wait while there is much to do.
"""


class Pump:
    """Thread that reads a stream into a queue of bounded size; when full, the oldest batches are dropped and
    counted.
    """

    def __init__(self, stream: Stream, limit_bytes: int = 64 << 20) -> None:
        self._stream = stream
        self.events_in: Callable[[Chunk], int] = lambda chunk: 0  # noqa: ARG005
        """Counts the events of a chunk; called for dropped chunks only."""
        self._limit = limit_bytes
        self._queue: deque[Batch] = deque()
        self._queued = 0
        self._changed = threading.Condition()
        self._reads = 1
        """Number of the read that is running, or is the next."""
        self._quiet = 0
        """Number of the last read that emptied the buffers of all data present at its start; plus 1: of all present
        at its end.
        """
        self._asked = 0
        """Number of times that an answer of a remote host was required."""
        self._stop = False
        self._thread: threading.Thread | None = None
        self.received_bytes = 0
        self.dropped_bytes = 0
        """Bytes of sub-buffers (or text) dropped while the queue was full."""
        self.dropped_events = 0
        """Events in the dropped bytes."""
        self.on_data: Callable[[], None] = lambda: None
        """Called from the thread when the queue is no longer empty, and when the thread ends by itself."""
        self.error: KernelError | None = None
        """Error that ended the thread; None while it runs and after close()."""

    @property
    def read_errors(self) -> int:
        """Number of reads that the kernel rejected, if the stream counts them."""
        return int(getattr(self._stream, "errors", 0))

    @property
    def is_quiet(self) -> bool:
        """True if the last read found nothing in the buffers, or no other read will come."""
        with self._changed:
            return self._quiet >= self._reads or not self._alive()

    @property
    def done(self) -> bool:
        """True once the thread has ended by itself: no more data will arrive."""
        return self.error is not None

    def start(self) -> None:
        """Start the thread; once."""
        if self._thread is None:
            sys.setswitchinterval(_SWITCH)
            self._thread = threading.Thread(target=self._run, name="pump", daemon=True)
            self._thread.start()

    def drain(self, most_bytes: float = math.inf) -> list[Batch]:
        """Return the oldest queued batches, about `most_bytes` of them; never waits."""
        batches: list[Batch] = []
        size = 0
        with self._changed:
            while self._queue and size < most_bytes:
                batches.append(self._queue.popleft())
                size += _size(batches[-1])
            self._queued -= size
            return batches

    def count_dropped(self, batches: Sequence[Batch]) -> None:
        """Count batches as dropped that were drained and found no room."""
        events = sum(self.events_in(chunk) for batch in batches for chunk in batch.chunks)
        with self._changed:
            self.dropped_bytes += sum(map(_size, batches))
            self.dropped_events += events

    def wait(self, timeout: float) -> bool:
        """Wait until a batch is queued or the thread has ended; return whether a batch is queued."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._queue) or not self._alive(), timeout)
            return bool(self._queue)

    def settle(self, timeout: float = 0.5, patience: float = 0.0) -> bool:
        """Wait until everything in the buffers now has been read; False: `timeout` seconds passed.

        Two reads prove it: one that ends from now on without data (where a remote host has to be asked, one that
        begins from now on), and a batch whose read began after this call and found every CPU's buffer empty at its
        end.

        Args:
            timeout: seconds.
            patience: seconds that a remote host from which nothing comes has beyond that.
        """
        asked = self._stream.require_answer() if self._alive() else False
        with self._changed:
            self._asked += asked
            first_read, received = self._reads, self.received_bytes

            def is_over() -> bool:
                return self._quiet > first_read or not self._alive()

            if self._changed.wait_for(is_over, timeout):
                return True
            if not patience or self.received_bytes > received:
                return False
            self._changed.wait_for(lambda: is_over() or self.received_bytes > received, patience)
            return self._changed.wait_for(is_over, timeout)

    def close(self) -> None:
        """Stop the stream and the thread. Safe to call twice and from any thread; what is queued stays."""
        with self._changed:
            self._stop = True
            self._changed.notify_all()
        self._stream.close()
        thread = self._thread  # a thread that could not be started can't be joined
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            thread.join(5.0)

    def _alive(self) -> bool:
        return self._thread is not None and not self._stop and self.error is None

    def _run(self) -> None:
        while not self._stop:
            asked = self._asked
            try:
                batch = self._stream.read(_PATIENCE)
            except KernelError as error:
                self._fail(error)
                return
            except Exception as error:
                # A stream that breaks in an unforeseen way must end the session, not silently the thread.
                self._fail(TargetLost(f"the stream broke: {error!r}"))
                return
            self._take(batch, asked)

    def _take(self, batch: Batch | None, asked: int) -> None:
        """Queue what a read gave; `asked`: the answers required when it began."""
        has_data = batch is not None and bool(batch.chunks)
        first, dropped = self._queue_up(batch) if batch is not None and has_data else (False, [])
        # Counting is slow: callers of drain() must not wait for it.
        events = sum(self.events_in(chunk) for batch_dropped in dropped for chunk in batch_dropped.chunks)
        with self._changed:
            self.dropped_events += events
            if batch is None or batch.drained:
                self._quiet = self._reads + (batch is None and asked == self._asked)
            self._reads += 1  # under the lock, lest settle() now takes the read that has ended for the running one
            self._changed.notify_all()
        if first:
            self.on_data()

    def _queue_up(self, batch: Batch) -> tuple[bool, list[Batch]]:
        """Append a batch; return whether the queue was empty, and the batches dropped for room."""
        size, dropped = _size(batch), []
        with self._changed:
            first = not self._queue
            self.received_bytes += size
            self._queue.append(batch)
            self._queued += size
            while self._queued > self._limit and len(self._queue) > 1:
                dropped.append(self._queue.popleft())
                self._queued -= _size(dropped[-1])
            if dropped:
                self._queue[0] = self._queue[0]._replace(after_gap=True)
            self.dropped_bytes += sum(map(_size, dropped))
        return first, dropped

    def _fail(self, error: KernelError) -> None:
        with self._changed:
            if not self._stop:
                self.error = error
            self._changed.notify_all()
        self.on_data()


def _size(batch: Batch) -> int:
    return sum(len(chunk.data) for chunk in batch.chunks)


def newest(entries: Sequence[Entry], limit: int) -> tuple[list[Entry], list[Batch]]:
    """Return the entries that fit into `limit` bytes of batches, and the dropped batches, the oldest ones.

    Entries that are no batches stay, and so does a batch without bytes, which marks a gap or a reboot.
    """
    size = sum(_size(entry) for entry in entries if isinstance(entry, Batch))
    kept: list[Entry] = []
    dropped: list[Batch] = []
    gap = False
    for entry in entries:
        if isinstance(entry, Batch) and entry.chunks:
            if size > limit and not entry.booted:
                size -= _size(entry)
                dropped.append(entry)
                gap = True
                continue
            kept.append(cast("Entry", entry._replace(after_gap=entry.after_gap or gap)))
            gap = False
        else:
            kept.append(entry)
    if gap:  # the gap precedes whatever is read next
        kept.append(cast("Entry", GAP))
    return kept, dropped
