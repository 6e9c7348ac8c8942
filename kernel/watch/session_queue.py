"""The session of a watch, opened on first use, and the entries read from it that have no row yet.

Whoever changes the session drains events already recorded before and puts the change behind them, so that events are
read under the formats that they were made under.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from events.batch import Batch
from events.format import EventFormat
from events.losses import NewestTask
from events.store.outage_mark import Outage
from kernel.cleanup.abandoned_processes import remove_effects_of_predecessors
from kernel.cleanup.undo import UndoFailure
from kernel.errors import KernelError, TargetUnusable
from kernel.guards.newest_task import read_newest_task
from kernel.pump import Pump, newest
from kernel.session.armed import Armed
from kernel.session.protocol import AnySession
from kernel.session.session import Session
from kernel.target import Target
from kernel.watch.source import SessionSource


class NewGroup(NamedTuple):
    """The group of a session that goes on with what another one had armed."""

    old: str
    new: str


Entry = Batch | Mapping[int, EventFormat] | Armed | Outage | NewGroup
"""Events, or what their ids mean from here on, or a time of which there are none, or the newest task then."""


class SessionQueue:
    """Session and queue of one watch; any thread may call it."""

    def __init__(self, target: Target, source: SessionSource, limit_bytes: int) -> None:
        self.target = target
        self.source = source
        self.limit_bytes = limit_bytes
        """Bytes of events that may wait."""
        self.lock = threading.Lock()
        """Held by a worker that changes the session, for as long as the kernel takes."""
        self.session: AnySession | None = None
        """The session; None until a probe was armed."""
        self.entries: list[Entry] = []
        """Batches, and what was armed between them, in the order in which the kernel made them."""
        self.on_data: Callable[[], None] = lambda: None
        """Called from any thread when there is something to tick for."""
        self.on_open: Callable[[AnySession], None] = lambda _: None
        """Called with a session just opened, before anything is read of it."""
        self.closed = False
        self.closing = False
        """True while everything is being disarmed, which may take a slow kernel half a minute."""
        self.usual_kb = 0
        """Size of the buffer of each CPU before it was changed; 0: it never was."""
        self.wanted_kb = 0
        """Size of the buffer that was asked for, in KiB; 0: unchanged."""

    @property
    def error(self) -> KernelError | None:
        """Why no more events will come; None while they may."""
        return self.session.pump.error if self.session else None

    def open(self) -> AnySession:
        """Return the session, opened if it is not; the caller holds `lock`. Raises TargetUnusable, TargetLost."""
        if self.closed:
            raise TargetUnusable(f"{self.target.name} was left meanwhile")
        if self.session is None:
            self.session = self.source.open(self.limit_bytes)
            self.session.pump.on_data = self._tell
            self.on_open(self.session)
        return self.session

    def reopen(self, ready: Callable[[Session], None]) -> Session:
        """Open another session in place of a disconnected one; see `SessionSource.reopen`."""
        return self.source.reopen(self.limit_bytes, ready)

    def drain(self, session: AnySession) -> None:
        """Put what was read behind what waits here; of more than the queue may hold the oldest events go.

        The caller holds `lock`.
        """
        self.entries += session.pump.drain()
        if isinstance(session.pump, Pump):  # a recording is no longer than its file
            self.entries, dropped = newest(self.entries, self.limit_bytes)
            session.pump.count_dropped(dropped)

    def replace(self, old: AnySession, session: AnySession, outage: Outage) -> None:
        """Queue what came of a disconnected session, the outage, and what another one has armed in its place.

        The caller holds `lock`, and sets the session.
        """
        old.pump.close()
        self.drain(old)
        self.entries += [
            *([outage] if outage.marked else []),
            NewGroup(old.group, session.group),
            *session.probes.armed,
        ]
        session.pump.on_data = self._tell

    def take(self, most_bytes: int) -> Sequence[Entry] | None:
        """Return some of the waiting entries, the oldest first; None: a worker is busy with the kernel."""
        if not self.lock.acquire(blocking=False):
            return None
        try:
            entries, self.entries = self.entries, []
            return entries or (self.session.pump.drain(most_bytes) if self.session is not None else [])
        finally:
            self.lock.release()

    def add(self, entries: Sequence[Entry]) -> bool:
        """Put entries behind those that wait; False: a worker is busy with the kernel."""
        if not self.lock.acquire(blocking=False):
            return False
        try:
            self.entries += entries
        finally:
            self.lock.release()
        self.on_data()
        return True

    def mark_newest_task(self) -> None:
        """Put the newest task of the kernel behind the events read so far and the gaps among them, all of which have
        ended: whoever makes a gap holds `lock` until then. Raises TargetLost.
        """
        newest = NewestTask()
        with self.lock:
            self.entries.append(Batch((), drained=False, newest_task=newest))
        self.on_data()
        newest.id = read_newest_task(self.target)

    @contextlib.contextmanager
    def changes(self) -> Iterator[None]:
        """Hold `lock` for a change; then there is something to tick for, also where the change was refused."""
        try:
            with self.lock:
                yield
        finally:
            self.on_data()

    def read_all(self, session: AnySession, patience: float = 0.0) -> None:
        """Bring what is in the kernel's buffers into the queue; `patience`: as for `Pump.settle`.

        The caller holds `lock`.
        """
        session.pump.settle(patience=patience)
        self.drain(session)

    def settle(self) -> None:
        """Stop what records besides probes, and bring what is in the buffers into the queue."""
        with self.changes():
            if self.session is not None:
                self.source.pause()
                self.read_all(self.session)

    def resize(self, kb: int) -> None:
        """Make the ring buffer of each CPU so large. Raises FileRefused, TargetUnusable, TargetLost."""
        if self.session is not None:
            before = self.session.resize(kb)
            self.usual_kb = self.usual_kb or before
            self.wanted_kb = kb

    def leave(self) -> None:
        """Leave a disconnected session in which nothing is armed: the next `open` opens another."""
        with self.lock:
            session, self.session = self.session, None
        if session is not None:
            session.close()  # over there nobody hears it; here its thread ends

    def close(self) -> list[UndoFailure]:
        """Close the session, for good, with what earlier processes of ours left; every step is tried."""
        with self.lock:
            self.closed = self.closing = True
            session, self.session = self.session, None
            try:
                return (session.close() if session else []) + remove_effects_of_predecessors(self.target)
            finally:
                self.closing = False

    def _tell(self) -> None:
        self.on_data()
