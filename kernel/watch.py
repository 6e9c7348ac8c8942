"""What is armed and what comes of it: a session, its pump, the store of its events, and a recording if one is wanted.

The screens and the commands share it. `arm`, `disarm`, `counts` and `close` wait for the kernel and may be called
from a worker; `tick` moves what has come into the store, never waits, and belongs to the one thread that reads the
store.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, cast

from events.batch import Batch
from events.decode import Decoder
from events.format import EventFormat, HeaderPage
from kernel.arming import Mode
from kernel.connection import Connection
from kernel.counts import Counts
from kernel.errors import KernelError, ProbeRefused, TargetUnusable
from kernel.guard import Guard
from kernel.known import Known
from kernel.limits import Limits
from kernel.recorder import Recorder
from kernel.session import Armed
from kernel.sessions import AnySession, open_session
from kernel.tape import Tape
from kernel.undo import UndoFailure
from probes.command import Armable
from probes.plan import Plan, PlannedEvent

if TYPE_CHECKING:
    from events.store import Store

STORE_BYTES = 256 << 20
"""What the store may keep; the oldest events go first, and are counted."""


_AT_ONCE = 1 << 20
"""Bytes that a tick brings in between two looks at the clock."""

Entry = Batch | Mapping[int, EventFormat] | Armed
"""Events, or what their ids mean from here on."""


class Watch:
    """See the module. The session is opened by the first `arm`."""

    def __init__(
        self,
        connection: Connection,
        limit_bytes: int = STORE_BYTES,
        limits: Limits = Limits(),  # noqa: B008 - frozen
    ) -> None:
        self.connection = connection
        self.limits = limits
        """How fast a probe may be."""
        self.guard = Guard(limits.storm)
        """Stops what is faster; `counts` has it look."""
        self.usual_kb = 0
        """Size of the buffer of each CPU before it was changed; 0: it never was."""
        self.known = Known(connection)
        """Fields, and the names of their values."""
        self.on_data: Callable[[], None] = lambda: None
        """Called from any thread when there is something to tick for."""
        self.behind = False
        """The last tick left something undone: it had no time, or a worker was busy with the kernel."""
        self.store: Store | None = None
        """None until something was armed."""
        self._tape = Tape(connection)
        self._limit = limit_bytes
        self._session: AnySession | None = None
        self._lock = threading.Lock()
        self._inbox: list[Entry] = []
        """Batches, and what was armed between them, in the order in which the kernel made them."""
        self._formats: dict[int, EventFormat] = {}
        """What each id of the kernel's means, as of the last tick."""
        self._closed = False
        self._told = False

    @property
    def armed(self) -> tuple[Armed, ...]:
        """Oldest first."""
        return self._session.armed if self._session else ()

    @property
    def session(self) -> AnySession | None:
        """None until something was armed."""
        return self._session

    @property
    def error(self) -> KernelError | None:
        """Why no more events will come; None while they may."""
        return self._session.pump.error if self._session else None

    def take_error(self) -> KernelError | None:
        """The error, the first time it is asked for."""
        error = None if self._told else self.error
        self._told = self._told or error is not None
        return error

    @property
    def ended(self) -> bool:
        """Nothing more will come, and all that came has its row: a recording was read, or the line is gone."""
        if self._session is None or self.store is None:
            return False
        return self._session.pump.done and not (self._inbox or self.behind or self.store.held)

    @property
    def unsettled(self) -> bool:
        """Another tick is due even if no more data comes: events are held back, or a tick was not enough."""
        return self.behind or bool(self._inbox) or (self.store is not None and self.store.held > 0)

    @property
    def live(self) -> bool:
        """Something is armed on a kernel that runs."""
        return bool(self.armed) and not self.ended and bool(self.connection.target.owner)

    def begin(self) -> None:
        """Open the session without arming: a recording shows what it holds. Raises TargetUnusable, TargetLost."""
        with self._lock:
            self._open()
        self.on_data()

    def arm(
        self,
        probe: Armable,
        *,
        at_any_rate: bool = False,
        mode: Mode = Mode.RECORD,
        triggers: Sequence[str] = (),
    ) -> Armed:
        """Lower and arm. Raises CannotLower, ProbeRefused, TooFast, TargetUnusable, TargetLost.

        Args:
            probe: what is wanted.
            at_any_rate: also where its events come faster than the limit.
            mode: COUNT: the kernel counts its hits and records nothing.
            triggers: for each of its events that takes them, beside its own.
        """
        limits = Limits(0, self.limits.storm) if at_any_rate else self.limits
        try:
            with self._lock:
                session = self._open()
                # An event's name means one thing for as long as its events may be seen.
                others = [plan for plan in self.known.plans if plan.probe != probe]
                plans = [*others, *(armed.plan for armed in session.armed)]
                taken = _paths(plans)
                plan = self.connection.lower(probe, session.group, taken, self._gone(probe, session))
                plan = self.connection.with_triggers(plan, triggers)
                # What is in the queue was made under the formats that hold until now.
                self._inbox += session.pump.drain()
                armed = session.arm(plan, limits, mode)
                self._inbox.append(armed)
                self.known.add(armed)
        finally:
            self.on_data()  # also where it was refused: what was in the queue waits for a tick
        if self.known.wants_symbols(armed) or self.known.with_stacks:
            self.connection.load_symbols()
        return armed

    def _gone(self, probe: Armable, session: AnySession) -> set[str]:
        """Paths of events that only other probes had, none of which is armed; their rows are still to be read."""
        kept = [plan for plan in self.known.plans if plan.probe == probe]
        kept += [armed.plan for armed in session.armed]
        return _paths(self.known.plans) - _paths(kept)

    def disarm(self, armed: Armed) -> list[UndoFailure]:
        """Take one probe away; its events stay in the store."""
        with self._lock:
            if self._session is None:
                return []
            failures = self._session.disarm(armed)
            self._inbox += self._session.pump.drain()
            if any(event.frame for event in armed.plan.events):
                # It may come back under the same name: a call of then must not be paired with one of now.
                self._inbox.append(Batch((), drained=False, after_gap=True))
        self.on_data()
        return failures

    def switch(self, armed: Armed, mode: Mode) -> list[UndoFailure]:
        """Let a probe record, only count, or do nothing. Raises ProbeRefused, FileRefused, TargetLost."""
        with self._lock:
            session = self._session
            if session is None:
                return []
            if mode is Mode.RECORD and any(event.frame for event in armed.plan.events):
                # An entry of before must not be paired with an exit of now.
                self._inbox += session.pump.drain()
                self._inbox.append(Batch((), drained=False, after_gap=True))
            failures = session.switch(armed, mode)
        if mode is not Mode.OFF:
            self.guard.forget(armed)
        self.on_data()
        return failures

    def resize(self, kb: int) -> None:
        """Make the ring buffer of each CPU so large. Raises FileRefused, TargetUnusable, TargetLost."""
        if self._session is not None:
            before = self._session.resize(kb)
            self.usual_kb = self.usual_kb or before

    def rearm(self, armed: Armed, plan: Plan) -> Armed:
        """Take a probe away and arm it by another plan of the same. Raises ProbeRefused, FileRefused, TargetLost.

        Where that is refused, it is armed again as it was.
        """
        self.disarm(armed)
        try:
            return self._arm_plan(plan)
        except ProbeRefused:
            self._arm_plan(armed.plan)
            raise

    def _arm_plan(self, plan: Plan) -> Armed:
        with self._lock:
            session = self._open()
            self._inbox += session.pump.drain()
            armed = session.arm(plan)
            self._inbox.append(armed)
            self.known.add(armed)
        self.on_data()
        return armed

    def add_trigger(self, armed: Armed, event: PlannedEvent, text: str) -> None:
        """Give an armed probe's event a trigger. Raises ProbeRefused, FileRefused, TargetUnusable, TargetLost."""
        with self._lock:
            if self._session is not None:
                formats = self._session.add_trigger(armed, event, text)
                self._inbox += self._session.pump.drain()
                self._inbox.append(formats)
                self.known.add_trigger(event, text)
        if event.path in self.known.with_stacks:
            self.connection.load_symbols()
        self.on_data()

    def tick(self, budget: float = 1.0) -> int:
        """Move what has come into the store; gives the number of new rows.

        Args:
            budget: seconds of CPU time; where that was not enough `on_data` is called at once.
        """
        before, self.behind = self.behind, False
        deadline = time.thread_time() + budget
        new = 0
        while arrived := self._next():
            for is_batch, entries in groupby(arrived, lambda entry: isinstance(entry, Batch)):
                new += self._enter(list(entries), is_batch)
            before = True
            if time.thread_time() >= deadline:
                self.behind = True
                self.on_data()
                break
        if self.behind or before or self.store is None:
            return new
        # Nothing came since the last tick: what was held back for older events of other CPUs is final.
        return self.store.flush()

    def _next(self) -> Sequence[Entry]:
        """Some of what has come, the oldest."""
        # A worker that arms holds the lock for as long as the kernel takes; the next tick does the work then.
        if not self._lock.acquire(blocking=False):
            self.behind = True
            return []
        try:
            if self._session is None or self.store is None:
                return []
            arrived, self._inbox = self._inbox, []
            return arrived or self._session.pump.drain(_AT_ONCE)
        finally:
            self._lock.release()

    def _enter(self, entries: list[Entry], are_batches: bool) -> int:
        """Give entries of one sort to the store and to the recording; gives the number of new rows."""
        if self.store is None:
            return 0
        new = self.store.feed(*cast("list[Batch]", entries)) if are_batches else 0
        for entry in entries:
            if not isinstance(entry, Batch):
                formats = entry.formats if isinstance(entry, Armed) else entry
                self.store.use(formats)
                self._formats |= formats
            self._tape.write(entry)
        return new

    def settle(self) -> None:
        """Bring in what is in the buffers now and hold nothing back; for the thread of `tick`, waits up to 0.5 s."""
        if self._session is not None:
            self._session.pump.settle()
        self.tick()
        if self.store is not None:
            self.store.flush()

    def forget(self) -> None:
        """Begin with an empty store; what is armed stays, and so do the formats."""
        if self.store is not None:
            self.store = self._new_store(self._formats, self.store.decoder.header, self.store.cmdlines)

    def counts(self) -> Counts | None:
        """What was lost so far; asks the kernel, and stops a probe that is too fast (see `guard`)."""
        session = self._session
        if session is None:
            return None
        counts = session.counts()
        if self.connection.target.owner:
            self.guard.look(session, counts, self._seen(), self.switch)
        return counts

    def _seen(self) -> dict[str, int]:
        """Events of each path that have their row; any thread may ask, for a copy of a dict is one step."""
        store = self.store
        return {store.event(number): count for number, count in dict(store.totals).items()} if store else {}

    def names(self) -> dict[int, str]:
        """Names of tasks; asks the kernel."""
        return self._session.cmdlines() if self._session else {}

    def know_names(self, names: Mapping[int, str]) -> None:
        """Show these names of tasks from now on; belongs to the thread of `tick`."""
        if self.store is not None:
            self.store.cmdlines = {**self.store.cmdlines, **names}

    @property
    def recorder(self) -> Recorder | None:
        """The recording that is being written; None: none is."""
        return self._tape.recorder

    @property
    def recording_error(self) -> str:
        """Why a recording ended by itself; empty: none did."""
        return self._tape.error

    def record_to(self, path: Path) -> None:
        """Write all events that come from now on to a recording. Raises OSError, KernelError where one is written."""
        if self._session is None:
            raise ValueError("nothing is armed")
        self._tape.begin(path, self._session, self._lock)

    def stop_recording(self) -> Path | None:
        """Finish the recording; gives its path. Raises OSError."""
        return self._tape.end(self._session)

    def close(self) -> list[UndoFailure]:
        """Take everything away; every step is tried. Safe to call twice."""
        with contextlib.suppress(OSError):  # a full disk must not keep the probes in the kernel
            self.stop_recording()
        with self._lock:
            self._closed = True
            session, self._session = self._session, None
            return session.close() if session else []

    def _open(self) -> AnySession:
        if self._closed:
            raise TargetUnusable(f"{self.connection.target.name} was left meanwhile")
        if self._session is None:
            self._session = open_session(self.connection.target)
            self._session.pump.on_data = self._tell
            self.store = self._new_store({}, self._session.header, self._session.cmdlines())
            for armed in self._session.armed:
                self.known.add(armed)
        return self._session

    def _new_store(
        self, formats: Mapping[int, EventFormat], header: HeaderPage, cmdlines: Mapping[int, str]
    ) -> Store:
        from events.store import Store  # and numpy, which who only looks at a kernel does not need

        store = Store(Decoder(formats, header), self._limit)
        store.cmdlines = cmdlines
        return store

    def _tell(self) -> None:
        self.on_data()


def _paths(plans: Iterable[Plan]) -> set[str]:
    return {event.path for plan in plans for event in plan.events}
