"""Losses of a watch, across its sessions: those of a session that was disconnected still count."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable

from events.loss_counts import LossCounts
from kernel.errors import KernelError
from kernel.session.protocol import AnySession
from kernel.session.session import Session
from kernel.watch.session_queue import SessionQueue
from probes.plans.plan import PlannedEvent


class LossLedger:
    """Losses of one watch. `read` waits for the kernel; any thread may call it."""

    def __init__(self, queue: SessionQueue) -> None:
        self.last: LossCounts | None = None
        """Losses as of the last read from the kernel; None: none was made."""
        self.on_read: Callable[[LossCounts], None] = lambda _: None
        """Called with losses that were read."""
        self._queue = queue
        self._earlier: LossCounts | None = None
        """Losses before the last disconnect, as far as they are known."""
        self._lock = threading.Lock()
        """Held, for a moment, while the session and what belongs to it change together."""

    def read(self, look: Callable[[AnySession, LossCounts], None] | None = None) -> LossCounts | None:
        """Read the losses so far from the kernel; None: no session is open. Raises TargetLost.

        `look` gets the session and its own counts.
        """
        with self._lock:
            session, earlier = self._queue.session, self._earlier
        if session is None:
            return None
        counts = session.counts()
        if look is not None:
            look(session, counts)
        total = counts.after(earlier)
        with self._lock:
            if session is self._queue.session:  # another one begins with what the last look at this one told
                self.last = total
                self.on_read(total)
        return total

    def final(self) -> LossCounts | None:
        """Read the losses so far; while disconnected, return those of the last read."""
        if self._queue.session is not None:
            with contextlib.suppress(KernelError):
                return self.read()
        return self.last

    def forget_hits(self, events: Iterable[PlannedEvent]) -> None:
        """Forget the hits of events before the last disconnect."""
        with self._lock:
            if self._earlier is not None:
                self._earlier = self._earlier.without_hits({event.path for event in events})

    def follow(self, session: AnySession) -> None:
        """Set the session of the queue; the losses of the one before still count."""
        with self._lock:
            old = self._queue.session
            if isinstance(old, Session):
                last = self.last or LossCounts({}, {}, {}, 0, 0, 0)
                self._earlier = self.last = last.ended(old.pump, self._earlier, (old.group, session.group))
            self._queue.session = session
