"""A watch: the armed probes of one target, the pump of their session, the store of their events, and the recording.

The screens and the commands share it. `arm`, `disarm`, `counts` and `close` wait for the kernel and may be called
from a worker; `tick` moves received batches into the store, never waits, and belongs to the one thread that reads the
store.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from events.batch import Batch
from events.decode import Decoder
from events.format import EventFormat, HeaderPage
from events.names.event_names import regrouped_path
from events.store.cgroups import Cgroups
from events.store.outage_mark import Outage, outage_of_batch
from kernel.cleanup.abandoned_processes import remove_effects_of_predecessors
from kernel.cleanup.undo import UndoFailure
from kernel.connection.planner import Connection
from kernel.errors import KernelError, TargetLost
from kernel.guards.limits import Limits
from kernel.guards.loss_counts import LossCounts
from kernel.guards.row_bounds import SCREEN, RowBounds
from kernel.recording.plans import recorded_graph
from kernel.session.arm_steps import Mode
from kernel.session.armed import Armed
from kernel.session.protocol import AnySession
from kernel.session.session import Session
from kernel.session.start import open_session
from kernel.watch.armed_set import ArmedSet, Entry, NewGroup
from kernel.watch.cgroup_lookup import CgroupLookup
from kernel.watch.final_outage import last_cut
from kernel.watch.recorder import Recorder
from kernel.watch.recording_control import RecordingControl
from kernel.watch.time_of_day import TimeOfDay

if TYPE_CHECKING:
    from events.clocks.clock_offset import ClockOffset
    from events.store.store import Store

__all__ = ["Entry", "Watch"]

Kept = Batch | Mapping[int, EventFormat] | Armed
"""Entry of a recording."""


class Watch(ArmedSet):
    """See the module. The session is opened by the first `arm`."""

    def __init__(
        self,
        connection: Connection,
        bounds: RowBounds = SCREEN,
        limits: Limits = Limits(),  # noqa: B008 - frozen
    ) -> None:
        super().__init__(connection, limits, bounds)
        self.behind = False
        """The last tick left something undone: it had no time, or a worker was busy with the kernel."""
        self.at_once = bounds.at_once
        """Bytes, about, that a tick brings in between two looks at the clock: at least one pass over the CPUs."""
        self.store: Store | None = None
        """Store of the events; None until a probe was armed."""
        self._forgotten: list[Store] = []
        """Stores before each `forget`, the oldest first: they have the same rows, and those of before."""
        self.homes = CgroupLookup(connection.target, bounds.tasks)
        """Cgroups of the tasks."""
        self.unshown = 0
        """Events that the store had to drop before they were shown, where all are to be."""
        self.forgotten_names = 0
        """Number of task names that were dropped, and that the kernel has forgotten as well."""
        self.clock = TimeOfDay(connection.target)
        """Time of day of events, once `measure_clock` was called, or as a recording has it."""
        self.graph_plan = recorded_graph(connection.target)
        """Plan of the function_graph tracer, or of the recorded one; None: no tracer ran, or its plan is unknown."""
        self._tape = RecordingControl(connection, self.homes, bounds.unwritten)
        self._formats: dict[int, EventFormat] = {}
        """Formats by event id, as of the last tick."""
        self._told = False
        self.line_note = "the line is gone"
        """Text about a lost connection; whoever reconnects says how far that is."""
        self.cuts: tuple[Outage, ...] = ()
        """Outages, the oldest first; of a recording, as far as it was read."""
        self.end_mark: Outage | None = None
        """The cut after which the line was not made anew; None: there was none."""
        self._counted: LossCounts | None = None
        self._earlier: LossCounts | None = None
        """Losses before the last disconnect, as far as they are known."""
        self._accounting = threading.Lock()
        """Held, for a moment, while the session and what belongs to it change together."""
        self._entering = threading.Lock()
        """Held, for a moment, while what came is on its way into the store and the recording."""

    def take_error(self) -> KernelError | None:
        """Return the error once; later None."""
        error = None if self._told else self.error
        self._told = self._told or error is not None
        return error

    @property
    def ended(self) -> bool:
        """True: no more events will come, and all have rows: a recording was read, or the connection is lost."""
        if self._session is None or self.store is None:
            return False
        return self._session.pump.done and not (self._inbox or self.behind or self.store.held)

    @property
    def unsettled(self) -> bool:
        """Another tick is due even if no more data comes: events are held back, or a tick was not enough."""
        return self.behind or bool(self._inbox) or (self.store is not None and self.store.held > 0)

    traces: ClassVar[bool] = False
    """True: the session records something besides its probes."""

    @property
    def live(self) -> bool:
        """Something is armed on a kernel that runs."""
        return bool(self.armed) and not self.ended and self.connection.target.is_kernel

    @property
    def silent(self) -> float | None:
        """Seconds since a remote host that owes an answer was last heard; None: no answer is overdue."""
        return getattr(self.connection.target, "silent", None) if self.live and self.error is None else None

    @property
    def lost(self) -> KernelError | None:
        """Why no more events will come, also where only an answer that stayed away tells; None while they may."""
        return self.error or (
            getattr(self.connection.target, "line_error", None) if self._session is not None else None
        )

    def hurry(self, ends: float) -> None:
        """Have the command end at a time of time.monotonic(): from then on a silent remote host is waited for no
        longer than `kernel.remote.answer_limit` says.
        """
        hurry = getattr(self.connection.target, "hurry", None)
        if hurry is not None:
            hurry(ends)

    @property
    def has_pace(self) -> bool:
        """True: a rate can be told: the events are live, and the remote host is not silent."""
        return self.live and self.silent is None

    def tick(self, budget: float = 1.0) -> int:
        """Move what has come into the store; gives the number of new rows.

        Args:
            budget: seconds of CPU time; where that was not enough `on_data` is called at once.
        """
        before, self.behind = self.behind, False
        deadline = time.thread_time() + budget
        new = 0
        while True:
            with self._entering:
                arrived = self._next()
                for is_batch, entries in groupby(arrived, lambda entry: isinstance(entry, Batch)):
                    new += self._enter(list(entries), is_batch)
            if not arrived:
                break
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
        """Return some of the received entries, the oldest first."""
        # A worker that arms holds the lock for as long as the kernel takes; the next tick does the work then.
        if not self._lock.acquire(blocking=False):
            self.behind = True
            return []
        try:
            if self._session is None or self.store is None:
                return []
            arrived, self._inbox = self._inbox, []
            return arrived or self._session.pump.drain(self.at_once)
        finally:
            self._lock.release()

    def _enter(self, entries: list[Entry], are_batches: bool) -> int:
        """Give entries of one sort to the store and to the recording; gives the number of new rows."""
        if self.store is None:
            return 0
        new = self.store.feed(*cast("list[Batch]", entries)) if are_batches else 0
        for entry in entries:
            if isinstance(entry, Outage):
                entry = self._marked(entry)
                new += self.store.feed(entry)
                self.clock.cut(booted=entry.booted)
                if entry.booted:
                    self.homes.begin_anew()
            elif isinstance(entry, Batch):
                if entry.booted:
                    self.clock.cut(booted=True)
                if self.connection.holds_events and (cut := outage_of_batch(entry)) is not None:
                    self.cuts = (*self.cuts, cut)
            elif isinstance(entry, NewGroup):
                self.clock.cut(booted=False)  # the machine may have slept, also where no event is missing
                self._regroup(*entry)
                continue
            else:
                formats = entry.formats if isinstance(entry, Armed) else entry
                self.store.use(formats)
                self._formats |= formats
            self._tape.write(entry)
        return new

    def _regroup(self, old: str, new: str) -> None:
        """Rename rows from before an outage to the present names of their events, so that nothing grows with
        outages.
        """
        if self.store is not None:
            self.store.regroup(old, new)
        self.known.regroup(old, new)
        kept = {
            number: fmt for number, fmt in self._formats.items() if regrouped_path(fmt.path, old, new) == fmt.path
        }
        self._formats = kept

    def settle(self) -> None:
        """Bring in what is in the buffers now and hold nothing back; for the thread of `tick`, waits up to 0.5 s."""
        if self._session is not None:
            self._session.pump.settle()
        self.tick()
        if self.store is not None:
            self.store.flush()

    def end_reading(self) -> None:
        """Read what is in the buffers now, up to 0.5 s, then no more; ticks bring in what is queued by then."""
        if self._session is not None and not self._session.pump.done:
            self._session.pump.settle()
            self._session.pump.close()

    def mark_end(self, offset: ClockOffset | None = None, now: int | None = None) -> None:
        """Add the mark of a lost connection that was not made again behind all events; for the thread of `tick`.

        Does nothing where it is there, or nothing was recorded that could be missing.

        Args:
            offset: of the kernel's clock to `now`.
            now: a clock, in nanoseconds; None: the offset is that of `clock`, to the time of day.
        """
        cut = self._last_cut(offset, now)
        if cut is None:
            return
        with self._lock:
            if self._session is None:
                return
            self._take_queue(self._session)
            self._inbox.append(cut)
            self.end_mark, self.behind = cut, True
        self.tick()  # at once: rows that come later may be of others, and younger
        if self.store is not None:
            self.store.flush()

    def _last_cut(self, offset: ClockOffset | None = None, now: int | None = None) -> Outage | None:
        """Return the outage of a lost connection up to now; None: no outage is without a mark."""
        store = self.store
        if store is None or self.end_mark is not None or not isinstance(self.lost, TargetLost):
            return None
        recorded = self.traces or any(mode is not Mode.OFF for mode in self.modes)
        if self.connection.holds_events or not recorded:
            return None
        if now is None:
            offset, now = self.clock.offset(store, max(store.latest, 0), store.next_seq), time.time_ns()
        return last_cut(self.connection.target, store.latest, offset, now)

    def forget(self) -> None:
        """Show only what comes from now on; see `recall`. What is armed stays, and so do the formats."""
        if self.store is not None:
            self._forgotten.append(self.store)
            self.store = self.store.from_now_on()
            self.guard.restart()

    def recall(self) -> None:
        """Show again what was there before the last `forget`, as far as memory was not wanted for what came since."""
        if self.store is not None and self._forgotten:
            earlier = self._forgotten.pop()
            earlier.go_on_from(self.store)
            self.store = earlier
            self.guard.restart()

    def counts(self) -> LossCounts | None:
        """Read the losses so far from the kernel, and stop a probe that is too fast (see `guard`)."""
        return self._look(guarded=self.connection.target.is_kernel)

    def _look(self, *, guarded: bool) -> LossCounts | None:
        with self._accounting:
            session, earlier = self._session, self._earlier
        if session is None:
            return None
        counts = session.counts()
        if guarded:
            self.guard.look(session, counts, self._seen(), self.switch)
        told = counts.after(earlier)
        with self._accounting:
            if session is self._session:  # another one begins with what the last look at this one told
                self._counted = told
                if self.store is not None and self.store.missed != told.nmissed:
                    self.store.missed = told.nmissed
        return told

    def last_look(self) -> None:
        """Ask the kernel once more for what was lost; a line that is lost by then shows in `lost`."""
        self._lost()

    def measure_clock(self) -> None:
        """Measure the clock of the kernel where that is due, for times of day. Waits for it. Raises TargetLost."""
        self.clock.measure(self._session)

    def disarm(self, armed: Armed) -> list[UndoFailure]:
        """Disarm a probe, and forget its hits."""
        failures = super().disarm(armed)
        with self._accounting:
            if self._earlier is not None:
                self._earlier = self._earlier.without_hits(armed.plan.events)
        return failures

    def another_session(self, ready: Callable[[Session], None]) -> Session:  # noqa: ARG002 - nothing is on yet
        """Open a session in the place of one whose line was cut. Raises TargetUnusable, TargetLost.

        `ready` is called with it when everything is there that it records by itself, and is about to be switched on.
        """
        return open_session(self.connection.target, limit_bytes=self.bounds.queued)

    def switch(self, armed: Armed, mode: Mode) -> list[UndoFailure]:
        """Change the mode of a probe; counting that begins later starts at 0, whatever was counted before an
        outage.
        """
        session = self._session
        counted = session is not None and session.probes.mode(armed) is Mode.COUNT
        failures = super().switch(armed, mode)
        if counted and mode is not Mode.COUNT:
            # Of kprobes the kernel counts hits in every mode.
            events = [event for event in armed.plan.events if event.line[:1] not in ("p", "r")]
            with self._accounting:
                if self._earlier is not None:
                    self._earlier = self._earlier.without_hits(events)
        return failures

    def exchange(self, make: Callable[[AnySession], tuple[AnySession, Outage]]) -> Outage:
        """Exchange the session; losses until then still count."""
        cut = super().exchange(make)
        if cut.marked:
            self.cuts = (*self.cuts, cut)
        return cut

    def _follow(self, session: AnySession) -> None:
        with self._accounting:
            old = self._session
            if isinstance(old, Session):
                last = self._counted or LossCounts({}, {}, {}, 0, 0, 0)
                self._earlier = self._counted = last.ended(old.pump, self._earlier, (old.group, session.group))
            super()._follow(session)
            self._told = False

    def _seen(self) -> dict[str, int]:
        """Events of each path that have their row; any thread may ask, for a copy of a dict is one step."""
        store = self.store
        return store.by_event(dict(store.totals)) if store else {}

    def names(self, *, homes: bool = True) -> dict[int, str]:
        """Names of tasks; asks the kernel, and (`homes`) for a moment in which cgroups they are."""
        names = self._session.cmdlines() if self._session else {}
        if homes:
            self.homes.look(names)
        return names

    def know_names(self, names: Mapping[int, str]) -> None:
        """Show these names of tasks from now on; belongs to the thread of `tick`."""
        if self.store is not None:
            known = {pid: name for pid, name in self.store.cmdlines.items() if pid not in names}
            gone = list(islice(known, max(0, len(known) + len(names) - max(self.bounds.tasks, len(names)))))
            for pid in gone:
                del known[pid]
            self.forgotten_names += len(gone)
            self.store.cmdlines = {**known, **names}
            self.store.cgroups.know(self.homes.take(), max(self.store.latest, 0))
            self.homes.wanted = frozenset(self.store.cgroups.unknown)

    @property
    def recorder(self) -> Recorder | None:
        """The recording that is being written; None: none is."""
        return self._tape.recorder

    @property
    def recording_error(self) -> str:
        """Why a recording ended by itself; empty: none did."""
        return self._tape.error

    def record_to(self, path: Path) -> None:
        """Write all events that have no row yet to a recording. Raises OSError, KernelError where one is written."""
        if self._session is None:
            raise ValueError("nothing is armed")
        with contextlib.suppress(KernelError):  # the pump tells of a line that is gone
            self.measure_clock()
        self._tape.begin(path, self._session, self._entered, self._lost, self._meta)

    @property
    def _meta(self) -> Mapping[str, Any]:
        """Meta values of a recording: clock and plan of the tracer."""
        return {**self.clock.meta, **(self.graph_plan.meta if self.graph_plan else {})}

    def prepare_recording(self, path: Path) -> None:
        """Write what is known of the kernel to a recording, ahead of `record_to` the same path, which is quick then.

        Nothing need be armed; without `record_to` no file stays. Raises OSError, TargetLost; no file is left then.
        """
        self._tape.prepare(path)

    @property
    def last_counts(self) -> LossCounts | None:
        """Losses as of the last read from the kernel; None: none was made."""
        return self._counted

    def stop_recording(self) -> Path | None:
        """Finish the recording with what was read by now; gives its path. Raises OSError.

        Where the line is lost the file says so at its end, whatever becomes of the line.
        """
        return self._tape.end(self._session, self._queued, self._lost, self._meta, self._end_of_recording)

    @contextlib.contextmanager
    def _entered(self) -> Iterator[tuple[tuple[Armed, ...], Mapping[int, EventFormat]]]:
        """Armed probes and formats as of the last tick: queued batches were made under no later ones."""
        with self._entering, self._lock:
            waiting = {id(entry) for entry in self._inbox}
            yield tuple(armed for armed in self.armed if id(armed) not in waiting), self._formats

    def _lost(self) -> LossCounts | None:
        """Return the losses so far; while disconnected, those of the last read."""
        if self._session is not None:
            with contextlib.suppress(KernelError):
                return self._look(guarded=False)
        return self._counted

    @contextlib.contextmanager
    def _queued(self) -> Iterator[Sequence[Kept]]:
        """Return the entries that are read and not yet in the store, as they are written; later ticks store them."""
        with self._entering, self._lock:
            if self._session is not None and not self.connection.holds_events:
                self._take_queue(self._session)
            waiting = [entry for entry in self._inbox if not isinstance(entry, NewGroup)]
            yield [self._marked(entry) if isinstance(entry, Outage) else entry for entry in waiting]

    def _end_of_recording(self) -> Batch | None:
        """Return the mark at the end of a recording that ends now; None: connected, or the mark is there."""
        cut = self._last_cut()
        return self._marked(cut) if cut is not None else None

    def _marked(self, cut: Outage) -> Batch:
        """Return an outage as the row that stands for it in the store and in a recording."""
        return cut.batch(max(self.store.latest, 0) if self.store is not None else 0)

    def close(self) -> list[UndoFailure]:
        """Take everything away; every step is tried. Safe to call twice.

        The connection stays as it was: who leaves the target with it says so by `hurry`.
        """
        with contextlib.suppress(OSError):  # a full disk must not keep the probes in the kernel
            self.stop_recording()
        self._tape.discard()
        with self._lock:
            self._closed = self.closing = True
            session, self._session = self._session, None
            try:
                return (session.close() if session else []) + remove_effects_of_predecessors(self.connection.target)
            finally:
                self.closing = False

    def _opened(self, session: AnySession) -> None:
        self.store = self._new_store({}, session.header, session.cmdlines())

    def _new_store(
        self, formats: Mapping[int, EventFormat], header: HeaderPage, cmdlines: Mapping[int, str]
    ) -> Store:
        from events.store.store import Store  # and numpy, which who only looks at a kernel does not need

        store = Store(Decoder(formats, header), self.bounds.rows)
        store.cmdlines = cmdlines
        store.expect_stacks(self.known.with_stacks)
        store.cgroups = Cgroups(self.homes.recorded, self.bounds.tasks, self.bounds.moves)
        return store
