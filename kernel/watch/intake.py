"""Move what was read of a session into the store and the recording, a tick at a time.

`tick` never waits, and belongs to the one thread that reads the store.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import TYPE_CHECKING, cast

from events.batch import Batch
from events.clocks.boots import task_key
from events.decode import Decoder
from events.format import EventFormat
from events.loss_counts import LossCounts
from events.names.event_names import regrouped_path
from events.store.cgroups import Cgroups
from events.store.outage_mark import Outage, outage_of_batch
from kernel.connection.kernel_info import KernelInfo
from kernel.guards.row_bounds import RowBounds
from kernel.session.armed import Armed
from kernel.session.protocol import AnySession
from kernel.watch.clocks.time_of_day import TimeOfDay
from kernel.watch.event_fields import EventFields
from kernel.watch.recording_control import Entered, RecordingControl
from kernel.watch.session_queue import Entry, NewGroup, SessionQueue
from kernel.watch.storm_guard import StormWatcher
from kernel.watch.tasks.cgroup_lookup import CgroupLookup
from kernel.watch.tasks.task_names import TaskNameReader

if TYPE_CHECKING:
    from events.store.store import Store

_STACK_PATIENCE = 1.0
"""Seconds that an event waits for its stack while nothing comes."""
Kept = Batch | Mapping[int, EventFormat] | Armed
"""Entry of a recording."""


class WatchIntake:
    """See the module."""

    def __init__(
        self,
        queue: SessionQueue,
        known: EventFields,
        clock: TimeOfDay,
        cgroups: CgroupLookup,
        recording: RecordingControl,
        guard: StormWatcher,
        bounds: RowBounds,
        info: KernelInfo,
    ) -> None:
        """Take the parts of a watch, and what is known of its target."""
        self.store: Store | None = None
        """Store of the events; None until a session was opened."""
        self.has_backlog = False
        """The last tick left something undone: it had no time, or a worker was busy with the kernel."""
        self.at_once = bounds.at_once
        """Bytes, about, that a tick brings in between two looks at the clock: at least one pass over the CPUs."""
        self.formats: dict[int, EventFormat] = {}
        """Formats by event id, as of the last tick."""
        self.outages: tuple[Outage, ...] = ()
        """Outages, the oldest first; of a recording, as far as it was read."""
        self.forgotten_names = 0
        """Number of task names that were dropped, and that the kernel has forgotten as well."""
        self.lacks_newest_task = False
        """Events were lost since the newest task was last asked for, as of the last tick."""
        self.task_names = TaskNameReader(info.target)
        """Names of tasks that the kernel's tracer does not know."""
        self.cgroups = cgroups
        """Cgroups of the tasks."""
        self.entering = threading.Lock()
        """Held, for a moment, while what came is on its way into the store and the recording."""
        self.known_until: Callable[[], int] = lambda: sys.maxsize
        """Returns the time up to which all lines of the commands that run were put into the queue."""
        self._queue = queue
        self._known = known
        self._clock = clock
        self._recording = recording
        self._guard = guard
        self._bounds = bounds
        self._info = info
        self._replayed = info.holds_events
        self._stack_awaited_since: float | None = None
        """Time by time.monotonic() since when nothing came but an event's stack is to come; None: none is."""
        self._forgotten: list[Store] = []
        """Stores before each `forget`, the oldest first: they have the same rows, and those of before."""

    @property
    def unsettled(self) -> bool:
        """Another tick is due even if no more data comes: events are held back, or a tick was not enough."""
        return (
            self.has_backlog or bool(self._queue.entries) or (self.store is not None and self.store.held_events > 0)
        )

    def open_store(self, session: AnySession) -> None:
        """Make the store of a session that was just opened."""
        from events.store.store import Store  # and numpy, which who only looks at a kernel does not need

        formats = self._queue.source.formats
        self.formats |= formats
        store = Store(Decoder(formats, session.header), self._bounds.rows, boot=self._info.symbols.boot)
        store.task_names.known = self._keyed(session.cmdlines(), store)
        store.expect_stacks(self._known.with_stacks)
        store.cgroups = Cgroups(self.cgroups.recorded, self._bounds.tasks, self._bounds.moves)
        self.store = store
        store.files_of = self._known.files_of
        self._known.descriptors.use(store, self._info.facts.machine)

    def tick(self, budget: float = 1.0) -> int:
        """Move what has come into the store; gives the number of new rows.

        Args:
            budget: seconds of CPU time; where that was not enough `on_data` is called at once.
        """
        before, self.has_backlog = self.has_backlog, False
        deadline = time.thread_time() + budget
        new = 0
        if self.store is not None:
            self.store.hold_after(self.known_until())
        while True:
            with self.entering:
                arrived = self._next()
                for is_batch, entries in groupby(arrived, lambda entry: isinstance(entry, Batch)):
                    new += self._enter(list(entries), is_batch)
            if not arrived:
                break
            before = True
            self._stack_awaited_since = None
            store = self.store
            self.lacks_newest_task = store is not None and store.loss_spans.latest.gaps.lacks_newest_task(
                store.dropped_until
            )
            if time.thread_time() >= deadline:
                self.has_backlog = True
                self._queue.on_data()
                break
        if self.has_backlog or before or self.store is None:
            return new
        session = self._queue.session
        if (
            self.known_until() < self.store.latest
            or self._is_stack_to_come(self.store)
            or (session is not None and not session.pump.is_quiet)
        ):
            return new
        # Nothing is in the buffers: what was held back for older events of other CPUs is final.
        return self.store.flush()

    def _is_stack_to_come(self, store: Store) -> bool:
        """Return whether an event is to wait for its stack: a slow connection may bring that much later."""
        if self._replayed or not store.awaits_stack:
            self._stack_awaited_since = None
            return False
        now = time.monotonic()
        if self._stack_awaited_since is None:
            self._stack_awaited_since = now
        return now - self._stack_awaited_since < _STACK_PATIENCE

    def _next(self) -> Sequence[Entry]:
        """Return some of the received entries, the oldest first."""
        if self.store is None:
            return []
        entries = self._queue.take(self.at_once)
        # A worker that arms holds the lock for as long as the kernel takes; the next tick does the work then.
        self.has_backlog = self.has_backlog or entries is None
        return entries or []

    def _enter(self, entries: list[Entry], are_batches: bool) -> int:
        """Give entries of one sort to the store and to the recording; gives the number of new rows."""
        if self.store is None:
            return 0
        new = self.store.feed(*cast("list[Batch]", entries)) if are_batches else 0
        for entry in entries:
            if isinstance(entry, Outage):
                entry = self.mark(entry)
                new += self.store.feed(entry)
                self._clock.add_disconnect(booted=entry.booted)
                if entry.booted:
                    self.cgroups.begin_anew()
            elif isinstance(entry, Batch):
                if entry.booted:
                    self._clock.add_disconnect(booted=True)
                if self._replayed and (outage := outage_of_batch(entry)) is not None:
                    self.outages = (*self.outages, outage)
            elif isinstance(entry, NewGroup):
                self._clock.add_disconnect(booted=False)  # the machine may have slept, also where no event is missing
                self._regroup(*entry)
                continue
            else:
                formats = entry.formats if isinstance(entry, Armed) else entry
                self.store.use(formats)
                self.formats |= formats
            self._recording.write(entry)
        return new

    def _regroup(self, old: str, new: str) -> None:
        """Rename rows from before an outage to the present names of their events, so that nothing grows with
        outages.
        """
        if self.store is not None:
            self.store.regroup(old, new)
        self._known.regroup(old, new)
        kept = {number: fmt for number, fmt in self.formats.items() if regrouped_path(fmt.path, old, new) == fmt.path}
        self.formats = kept

    def settle(self) -> None:
        """Take all that is in the buffers now into the store; call in the thread of `tick`; waits up to 0.5 s."""
        if self._queue.session is not None:
            self._queue.session.pump.settle()
        self.tick()
        if self.store is not None:
            self.store.flush()

    def forget(self) -> None:
        """Show only what comes from now on; see `recall`. What is armed stays, and so do the formats."""
        if self.store is not None:
            self._forgotten.append(self.store)
            self.store = self.store.from_now_on()
            self._guard.restart()

    def recall(self) -> None:
        """Show again what was there before the last `forget`, as far as memory was not wanted for what came since."""
        if self.store is not None and self._forgotten:
            self.store = self._forgotten.pop()
            self._guard.restart()

    def know_names(self, names: Mapping[int, str]) -> None:
        """Show these names of tasks from now on; belongs to the thread of `tick`."""
        if self.store is not None and (self._replayed or self._info.symbols.boot == self.store.boots.latest):
            names = self._keyed(names, self.store)
            known = {pid: name for pid, name in self.store.task_names.known.items() if pid not in names}
            gone = list(islice(known, max(0, len(known) + len(names) - max(self._bounds.tasks, len(names)))))
            for pid in gone:
                del known[pid]
            self.forgotten_names += len(gone)
            self.store.task_names.known = {**known, **names}
            self._recording.names(self.store.task_names.known)
            self.store.task_names.unknown.clear()
            self.store.request_names()
            self.task_names.requested = frozenset(self.store.task_names.unknown)
            self.store.cgroups.know(self.cgroups.take(), max(self.store.latest, 0))
            self.cgroups.requested_tasks = frozenset(self.store.cgroups.unknown)

    def lacks_names(self) -> bool:
        """Return whether new rows are of tasks whose names were not asked for yet."""
        if self.store is None:
            return False
        self.store.request_names()
        return not self.store.task_names.unknown <= set(self.task_names.requested)

    def _keyed(self, names: Mapping[int, str], store: Store) -> Mapping[int, str]:
        """Return names by `events.clocks.boots.task_key`, as recordings have them; of a kernel, of the last boot."""
        boot = store.boots.latest
        return names if self._replayed or not boot else {task_key(pid, boot): name for pid, name in names.items()}

    def stored_counts(self) -> dict[str, int]:
        """Return the number of events in the store by path. Any thread may call: copying a dict is atomic."""
        store = self.store
        return store.by_event(dict(store.totals)) if store else {}

    def take_losses(self, counts: LossCounts) -> None:
        """Give the store the hits that were missed."""
        if self.store is not None and self.store.missed_calls != counts.nmissed:
            self.store.missed_calls = counts.nmissed

    @contextlib.contextmanager
    def entered(self) -> Iterator[Entered]:
        """Hold armed probes, formats and boot as of the last tick: the queued batches were made under them."""
        with self.entering, self._queue.lock:
            waiting = {id(entry) for entry in self._queue.entries}
            session = self._queue.session
            probes = session.probes.armed if session is not None else ()
            armed = tuple(armed for armed in probes if id(armed) not in waiting)
            yield Entered(armed, self.formats, self.store.boots.latest if self.store is not None else 0)

    @contextlib.contextmanager
    def queued(self) -> Iterator[Sequence[Kept]]:
        """Return the entries that are read and not yet in the store, as they are written; later ticks store them."""
        with self.entering, self._queue.lock:
            if self._queue.session is not None and not self._replayed:
                self._queue.drain(self._queue.session)
            waiting = [entry for entry in self._queue.entries if not isinstance(entry, NewGroup)]
            yield [self.mark(entry) if isinstance(entry, Outage) else entry for entry in waiting]

    def mark(self, outage: Outage) -> Batch:
        """Return an outage as the row that stands for it in the store and in a recording."""
        return outage.batch(max(self.store.latest, 0) if self.store is not None else 0)
