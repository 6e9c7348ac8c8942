"""A watch: the armed probes of one target, the pump of their session, the store of their events, and the recording.

The screens and the commands share it. What waits for the kernel (`begin`, `counts`, `close`, all of `armed`) may be
called from a worker; `tick` moves received batches into the store, never waits, and belongs to the one thread that
reads the store.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from events.batch import Batch
from events.loss_counts import LossCounts
from events.store.outage_mark import Outage
from kernel.cleanup.undo import UndoFailure
from kernel.connection.planner import Planner
from kernel.errors import ConnectionGone, KernelError, TargetLost
from kernel.guards.limits import Limits
from kernel.guards.row_bounds import SCREEN, RowBounds
from kernel.remote.answer_limit import CHECK_INTERVAL, ENDING_LIMIT
from kernel.session.probe_steps import Mode
from kernel.session.protocol import AnySession
from kernel.watch.armed_set import ArmedSet
from kernel.watch.clocks.time_of_day import TimeOfDay
from kernel.watch.counting_states import Phase
from kernel.watch.event_fields import EventFields
from kernel.watch.final_outage import final_outage
from kernel.watch.intake import WatchIntake
from kernel.watch.loss_ledger import LossLedger
from kernel.watch.recording_control import RecordingControl
from kernel.watch.session_queue import SessionQueue
from kernel.watch.source import ProbeSource, SessionSource
from kernel.watch.storm_guard import StormWatcher
from kernel.watch.tasks.cgroup_lookup import CgroupLookup
from kernel.watch.tasks.task_limit import TaskLimit

if TYPE_CHECKING:
    from events.clocks.clock_offset import ClockOffset
    from events.store.store import Store
    from kernel.watch.histogram import Histograms
    from probes.plans.graph_plan import GraphPlan


class Watch:
    """See the module. The session is opened by `begin`, or by the first probe that is armed."""

    def __init__(
        self,
        planner: Planner,
        bounds: RowBounds = SCREEN,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        source: SessionSource | None = None,
    ) -> None:
        """Take the planner of a target; `source`: opens its sessions, None: they have probes only."""
        target = planner.info.target
        self.planner = planner
        self.info = planner.info
        self.bounds = bounds
        """Bounds of the memory for events."""
        self.guard = StormWatcher(limits.storm)
        """Stops what is faster; `counts` has it look."""
        self.event_fields = EventFields(self.info.namer)
        """Fields, and the names of their values."""
        self.clock = TimeOfDay(target)
        """Time of day of events, once `measure_clock` was called, or as a recording has it."""
        self.queue = SessionQueue(target, source or ProbeSource(target), bounds.queued)
        """The session, and what was read of it and has no row yet."""
        self.queue.on_open = self._opened
        self.losses = LossLedger(self.queue)
        """Losses of all sessions."""
        self.armed = ArmedSet(planner, self.queue, self.event_fields, self.losses, limits)
        """Armed probes, and all changes to them."""
        self.task_limit = TaskLimit(planner, self.queue)
        """Tasks whose events are recorded."""
        cgroups = CgroupLookup(target, bounds.tasks)
        self.recording = RecordingControl(self.info, cgroups, self.event_fields, bounds.unwritten)
        """The recording that is being written, if one is wanted."""
        self.intake = WatchIntake(
            self.queue,
            self.event_fields,
            self.clock,
            cgroups,
            self.recording,
            self.guard,
            bounds,
            self.info,
        )
        """The store of the events, and their way into it."""
        self.losses.on_read = self.intake.take_losses
        self.evicted = 0
        """Events that the store had to drop before they were shown, where all are to be."""
        self.connection_note = "the connection was lost"
        """Text about a lost connection; whoever reconnects says how far that is."""
        self.end_mark: Outage | None = None
        """Outage after which the watch was never reconnected; None: there was none."""
        self.session_boot = self.info.symbols.boot
        """Boot in which the session was opened."""
        self._histograms: Histograms | None = None
        self._told = False

    @property
    def store(self) -> Store | None:
        """Store of the events; None until a probe was armed."""
        return self.intake.store

    @property
    def session(self) -> AnySession | None:
        """The session; None until a probe was armed."""
        return self.queue.session

    @property
    def outages(self) -> tuple[Outage, ...]:
        """Outages, the oldest first; of a recording, as far as it was read."""
        return self.intake.outages

    @property
    def graph_plan(self) -> GraphPlan | None:
        """Plan of the function_graph tracer, or of the recorded one; None: no tracer ran, or its plan is unknown."""
        return self.queue.source.graph_plan

    @property
    def histograms(self) -> Histograms:
        """Counting of these probes in the kernel, which outlasts every view of it."""
        if self._histograms is None:
            from kernel.watch.histogram import Histograms  # nobody may ask for it

            self._histograms = Histograms(self.armed)
        return self._histograms

    @property
    def counting(self) -> Phase:
        """State of counting in the kernel. Never waits."""
        return self._histograms.phase if self._histograms is not None else Phase.OFF

    @property
    def error(self) -> KernelError | None:
        """Why no more events will come; None while they may."""
        return self.queue.error

    def take_error(self) -> KernelError | None:
        """Return the error once; later None."""
        error = None if self._told else self.error
        self._told = self._told or error is not None
        return error

    @property
    def ended(self) -> bool:
        """True: no more events will come, and all have rows: a recording was read, or the connection is lost."""
        session = self.session
        return session is not None and self.store is not None and session.pump.done and not self.intake.unsettled

    @property
    def live(self) -> bool:
        """True: probes are armed, or a tracer runs, on a running kernel."""
        recorded = self.session is not None and (self.queue.source.traces or bool(self.armed.probes))
        return recorded and not self.ended and self.info.target.is_kernel

    @property
    def overdue_seconds(self) -> float | None:
        """Seconds since a remote host that owes an answer was last heard; None: no answer is overdue."""
        return getattr(self.info.target, "overdue_seconds", None) if self.live and self.error is None else None

    @property
    def connection_error(self) -> KernelError | None:
        """Error that ended the events, including an answer that never arrived; None: events may still arrive."""
        return self.error or (
            getattr(self.info.target, "connection_error", None) if self.session is not None else None
        )

    def set_deadline(self, ends: float) -> None:
        """Have the command end at a time of time.monotonic(): from then on a silent remote host is waited for no
        longer than `kernel.remote.answer_limit` says.
        """
        set_deadline = getattr(self.info.target, "set_deadline", None)
        if set_deadline is not None:
            set_deadline(ends)

    @property
    def has_pace(self) -> bool:
        """True: a rate can be told: the events are live, and the remote host is not silent."""
        return self.live and self.overdue_seconds is None

    def begin(self) -> None:
        """Open the session without arming: a recording shows what it holds. Raises TargetUnusable, TargetLost."""
        with self.queue.lock:
            self.queue.open()
        self.queue.on_data()

    def tick(self, budget: float = 1.0) -> int:
        """Move what has come into the store; see `kernel.watch.intake.Intake.tick`."""
        return self.intake.tick(budget)

    def end_reading(self) -> None:
        """Read what is in the buffers now, up to 0.5 s, then no more; ticks bring in what is queued by then.

        A remote host from which nothing comes is waited for until it answers, or counts as lost.
        """
        if self.session is not None and not self.session.pump.done:
            self.session.pump.settle(patience=ENDING_LIMIT + CHECK_INTERVAL)
            self.session.pump.close()

    def mark_end(self, offset: ClockOffset | None = None, now: int | None = None) -> None:
        """Add the mark of a lost connection that was not made again behind all events; for the thread of `tick`.

        Does nothing where it is there, or nothing was recorded that could be missing.

        Args:
            offset: offset of the kernel's clock from `now`.
            now: a clock, in nanoseconds; None: the offset is that of `clock`, to the time of day.
        """
        outage = self._final_outage(offset, now)
        if outage is None:
            return
        with self.queue.lock:
            if self.session is None:
                return
            self.queue.drain(self.session)
            self.queue.entries.append(outage)
            self.end_mark, self.intake.has_backlog = outage, True
        self.tick()  # at once: rows that come later may be of others, and younger
        if self.store is not None:
            self.store.flush()

    def _final_outage(self, offset: ClockOffset | None = None, now: int | None = None) -> Outage | None:
        """Return the outage of a lost connection up to now; None: no outage is without a mark."""
        store = self.store
        if store is None or self.end_mark is not None or not isinstance(self.connection_error, TargetLost):
            return None
        recorded = self.queue.source.traces or any(mode is not Mode.OFF for mode in self.armed.modes)
        if self.info.holds_events or not recorded:
            return None
        if now is None:
            offset, now = self.clock.offset(store, max(store.latest, 0), store.next_seq), time.time_ns()
        return final_outage(self.info.target, store.latest, offset, now)

    def counts(self) -> LossCounts | None:
        """Read the losses so far from the kernel, with the newest task after them, and stop a probe that is too fast
        (see `guard`).
        """
        if self.intake.lacks_newest_task and self.live:
            self.queue.mark_newest_task()
        return self.losses.read(self._look if self.info.target.is_kernel else None)

    def _look(self, session: AnySession, counts: LossCounts) -> None:
        self.guard.look(session, counts, self.intake.stored_counts(), self.armed.switch)

    def measure_clock(self) -> None:
        """Measure the clock of the kernel where that is due, for times of day. Waits for it. Raises TargetLost."""
        self.clock.measure(self.session)

    def exchange(self, make: Callable[[AnySession], tuple[AnySession, Outage]]) -> Outage:
        """Continue with another session after a disconnect; the events received before stay, and the losses still
        count.

        `make` opens and arms it, and says how long there was none. Where it raises, nothing has changed.
        """
        with self.queue.lock:
            old = self.session
            if old is None or self.queue.closed:
                raise ConnectionGone(f"{self.info.target.name} was left meanwhile")
            session, outage = make(old)
            self.queue.replace(old, session, outage)
            self.session_boot = self.info.symbols.boot
            self.losses.follow(session)
            self._told = False
            self.armed.follow(session)
            self.guard.restart()
        self.queue.on_data()
        if outage.marked:
            self.intake.outages = (*self.outages, outage)
        return outage

    def begin_boot(self) -> None:
        """Begin another boot of the target, which was seen to have rebooted since the session was opened."""
        self.info.symbols.begin_boot((self.info.symbols.boot if self.session is None else self.session_boot) + 1)

    def names(self, *, cgroups: bool = True) -> dict[int, str]:
        """Read the names of tasks by id; with `cgroups`, look up the cgroup of each as well, for a bounded time."""
        names = self.session.cmdlines() if self.session else {}
        if self.store is not None:
            names = {**self.intake.task_names.look(tuple(self.store.task_names.unknown), names), **names}
        if cgroups:
            self.intake.cgroups.look(names)
        return names

    def record_to(self, path: Path) -> None:
        """Write all events that have no row yet to a recording. Raises OSError, KernelError where one is written."""
        if self.session is None:
            raise ValueError("nothing is armed")
        with contextlib.suppress(KernelError):  # the pump reports a lost connection
            self.measure_clock()
        self.recording.begin(path, self.session, self.intake.entered, self.losses.final, self._meta)

    @property
    def _meta(self) -> Mapping[str, Any]:
        """Meta values of a recording: clock and plan of the tracer."""
        return {**self.clock.meta, **(self.graph_plan.meta if self.graph_plan else {})}

    def stop_recording(self) -> Path | None:
        """Finish the recording with what was read by now; gives its path. Raises OSError.

        If the connection is lost, the file ends with a mark of the outage, even if a reconnect follows.
        """
        return self.recording.end(
            self.session, self.intake.queued, self.losses.final, self._meta, self._end_of_recording
        )

    def _end_of_recording(self) -> Batch | None:
        """Return the mark at the end of a recording that ends now; None: connected, or the mark is there."""
        outage = self._final_outage()
        return self.intake.mark(outage) if outage is not None else None

    def close(self) -> list[UndoFailure]:
        """Take everything away; every step is tried. Safe to call twice.

        The connection stays as it was: who leaves the target with it says so by `set_deadline`.
        """
        with contextlib.suppress(OSError):  # a full disk must not keep the probes in the kernel
            self.stop_recording()
        self.recording.discard()
        return self.queue.close()

    def _opened(self, session: AnySession) -> None:
        self.event_fields.group = session.group
        self.session_boot = self.info.symbols.boot
        self.intake.open_store(session)
        for armed in session.probes.armed:
            self.event_fields.add(armed)
        if self.info.target.recording is not None:
            self.event_fields.with_stacks |= self.info.target.recording.stack_carriers
