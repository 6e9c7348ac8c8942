"""The probes that are armed in one trace instance: each change to them, and the way back from it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from events.format import EventFormat
from events.loss_counts import LossCounts
from kernel.cleanup.undo import UndoFailure
from kernel.errors import KernelError, TargetUnusable
from kernel.guards.arm_progress import ArmProgress
from kernel.guards.limits import UNLIMITED, Limits
from kernel.guards.loss_counts import LossCounter
from kernel.guards.rate_check import checked_rate
from kernel.pump import Pump
from kernel.session.arm_steps import ArmSteps
from kernel.session.armed import Armed
from kernel.session.instance import exclude_own_processes
from kernel.session.parked_events import EventRemoval
from kernel.session.pause_tracing import TracingPause
from kernel.session.probe_steps import Mode, ProbeSteps
from kernel.session.shared_events import leave_shared_events, refuse_conflicts
from kernel.tracefs import Instance, Tracefs
from kernel.tracers.tracer_steps import Released, TracerSteps
from probes.hist.stack_triggers import records_stacks
from probes.plans.plan import Plan, PlannedEvent


class ArmedProbes:
    """Armed probes of a session that tracefs records, and all changes to them. Calls may come from any thread."""

    def __init__(
        self,
        tracefs: Tracefs,
        instance: Instance,
        pause: TracingPause,
        losses: LossCounter,
        long_size: int,
        released: Released,
    ) -> None:
        """Take an instance with what reads it; `released`: lets the reader leave it for a moment."""
        self.follows_forks = False
        """True: threads and children of our processes are kept out of the instance automatically."""
        self.lock = threading.RLock()
        """Held during each change to the instance."""
        self._target = instance.target
        self._instance = instance
        self._tracefs = tracefs
        self._pause = pause
        self._losses = losses
        tracers = TracerSteps(instance.target, tracefs, instance, self._unread(released))
        self._arming = ArmSteps(instance.target, tracefs, instance, long_size, tracers)
        self._armed: dict[Armed, ProbeSteps] = {}
        self._formats: dict[int, EventFormat] = {}
        self._removal = EventRemoval(tracefs, pause, losses)
        self._closed = False

    @property
    def armed(self) -> tuple[Armed, ...]:
        """Oldest first."""
        return tuple(self._armed)

    @property
    def _records(self) -> bool:
        """True if a probe records."""
        return any(holding.mode is Mode.RECORD for holding in self._armed.values())

    @property
    def closed(self) -> bool:
        """True once everything was disarmed for good."""
        return self._closed

    def _unread(self, released: Released) -> Released:
        """Return a context in which nothing is recorded nor read, and what was recorded before has been read."""

        @contextlib.contextmanager
        def unread() -> Iterator[None]:
            with contextlib.ExitStack() as held:
                held.enter_context(self._pause.hold())
                with released():
                    try:
                        yield
                    finally:
                        held.close()  # recording need not wait for the reader

        return unread

    def formats(self) -> Mapping[int, EventFormat]:
        """Return the formats of all events ever armed, by id; a later event replaces an earlier one of its id."""
        return MappingProxyType(dict(self._formats))

    def arm(
        self,
        plan: Plan,
        limits: Limits = UNLIMITED,
        mode: Mode = Mode.RECORD,
        key: object | None = None,
        progress: ArmProgress | None = None,
    ) -> Armed:
        """Define the events of a plan, set filters and triggers, and switch them on, in our instance only.

        Args:
            plan: plan to arm.
            limits: highest rates of its events.
            mode: effect of a hit.
            key: key of the armed probe that is armed again; None: a new probe.
            progress: gets each step, and may stop it; None: nobody looks.

        Raises:
            ArmingCancelled: `progress` was cancelled; everything of this plan is undone.
            ProbeRefused: the kernel said no; everything of this plan is undone.
            TooFast: its events come faster than the limits allow; undone as well.
            FileRefused: a file of the new events could not be read; undone as well.
            TargetLost: the connection was lost; the remote host undoes the guarded steps.
        """
        progress = progress or ArmProgress()
        with self.lock:
            if self._closed:
                raise TargetUnusable("the session is closed")
            refuse_conflicts(plan, [armed.plan for armed in self._armed])
            unparked = self._removal.parked.unpark_equal(plan)
            holding = unparked.holding if unparked else self._arming.holding(plan)
            filtered = unparked.plan if unparked else plan
            try:
                exclude_own_processes(self._target, self._instance, append=self.follows_forks)
                if unparked:
                    self._arming.filters.change(unparked.plan, plan, holding)
                    filtered = plan
                else:
                    self._removal.remove(self._removal.parked.unpark_named(plan))
                    self._arming.define(plan, holding.defined, progress)
                armed = self._switch_on(plan, holding, limits, mode, progress, key or object())
            except BaseException:
                # The way every probe goes: removing an event empties the buffer, and others have events in it.
                plans = [*(one.plan for one in self._armed), plan]
                leave_shared_events(self._tracefs, self._instance, plans, len(self._armed), holding)
                # By the plan whose filters the kernel has.
                self._removal.park(filtered, holding, others_record=self._records)
                raise
            self._armed[armed] = holding
            self._formats |= armed.formats
            return armed

    def _switch_on(
        self, plan: Plan, holding: ProbeSteps, limits: Limits, mode: Mode, progress: ArmProgress, key: object
    ) -> Armed:
        """Set filters and triggers of events that are defined, measure their rate, and switch them on; see `arm`."""
        formats = MappingProxyType(self._arming.read_formats(plan, stacks=plan.tracer is not None))
        self._arming.filters.set(plan, holding.defined)
        taken = {event.path for armed in self._armed for event in armed.plan.events}
        rate = checked_rate(self._instance, plan, taken, holding.counted, holding.name, limits, progress)
        triggers = [(event, text) for event in plan.events for text in event.triggers]
        with self._pause.around(text for _, text in triggers):
            for event, text in triggers:
                self._arming.add_trigger(event, text, holding)
        progress.begin("switching it on")
        with self._until_stacks_come(holding, mode):
            self._arming.switch(plan, holding, mode)  # what of a count stays is tried again at the end
        progress.check()
        return Armed(plan, formats, rate, key)

    def _until_stacks_come(self, holding: ProbeSteps, mode: Mode) -> contextlib.AbstractContextManager[None]:
        """Record nothing while a probe is switched on whose events are to have stacks, so that the first has one.

        Where other probes record they go on, and the first events have none.
        """
        alone = mode is Mode.RECORD and not self._records
        stacks = any(records_stacks(text) for _, text in holding.triggers)
        return self._pause.hold() if alone and stacks else contextlib.nullcontext()

    def change_filters(self, armed: Armed, plan: Plan) -> Armed:
        """Give an armed probe other filters, where it is; gives it as it is now.

        Args:
            armed: armed probe.
            plan: its plan with other filters and, perhaps, another probe; nothing else differs.

        Raises:
            ProbeRefused: a filter is wrong, or the event is another probe's too; nothing has changed.
            TargetLost: the connection was lost; the remote host removes all probes.
        """
        with self.lock:
            if armed not in self._armed:
                raise TargetUnusable("this probe is not armed any more")
            refuse_conflicts(plan, [one.plan for one in self._armed if one is not armed])
            self._arming.filters.change(armed.plan, plan, self._armed[armed])
            changed = replace(armed, plan=plan)
            self._armed = {changed if one is armed else one: holding for one, holding in self._armed.items()}
            return changed

    def switch(self, armed: Armed, mode: Mode) -> list[UndoFailure]:
        """Let a probe record, only count, or do nothing; the others go on, and what is in the buffer stays.

        An event that another probe has too is switched for both, and one that got another filter meanwhile is the
        same probe. Returns the steps that failed; close() tries them again. Raises ProbeRefused, FileRefused,
        TargetLost: it does what it did.
        """
        with self.lock:
            now = next((one for one in self._armed if one.key is armed.key), None)
            if now is None:
                return []
            holding = self._armed[now]
            try:
                return self._arming.switch(now.plan, holding, mode)
            except BaseException:
                holding.only(holding.mode)  # a half of it would be taken for the whole the next time
                raise

    def mode(self, armed: Armed) -> Mode:
        """Return the mode of a probe; OFF: the probe is not armed any more."""
        return self._armed[armed].mode if armed in self._armed else Mode.OFF

    def add_trigger(
        self, armed: Armed, event: PlannedEvent, text: str, *, by_hand: bool = True
    ) -> Mapping[int, EventFormat]:
        """Give an armed probe's event one more trigger; it goes with the probe.

        `by_hand`: where the probe is armed anew the trigger is wanted again (`kernel.session.rearm`).
        Gives formats of what the trigger may put into the buffer. Raises ProbeRefused, FileRefused, TargetLost.
        """
        with self.lock:
            if armed not in self._armed:
                raise TargetUnusable("this probe is not armed any more")
            with self._pause.around([text]):
                self._arming.add_trigger(event, text, self._armed[armed])
            if by_hand and (event, text) in self._armed[armed].triggers:
                self._armed[armed].by_hand.append((event, text))
            formats = self._arming.read_formats(armed.plan, stacks=True)
            self._formats |= formats
            return MappingProxyType(formats)

    def add_event(self, armed: Armed, event: PlannedEvent) -> None:
        """Make an event that a probe's triggers fire, once; it goes with it. Raises ProbeRefused, TargetLost."""
        with self.lock:
            if armed not in self._armed:
                raise TargetUnusable("this probe is not armed any more")
            holding = self._armed[armed]
            if event not in holding.made:
                self._arming.define(Plan(armed.plan.probe, (event,)), holding.defined)
                holding.made.append(event)

    def name(self, armed: Armed) -> str:
        """Begin of the names of an armed probe's own histograms; empty where it is not armed any more."""
        return self._armed[armed].name if armed in self._armed else ""

    def zero_histogram(self, event: PlannedEvent, text: str) -> None:
        """Set the counts of a hist trigger that is there to 0. Raises FileRefused, TargetLost."""
        head, link, condition = text.partition(" if ")
        with self.lock:
            self._target.perform(self._instance.trigger(event.path, f"{head}:clear{link}{condition}"))

    def remove_trigger(self, armed: Armed, event: PlannedEvent, text: str) -> None:
        """Take a trigger away; one that is not there is no error. Raises FileRefused, TargetLost."""
        with self.lock:
            if armed in self._armed:
                self._arming.remove_trigger(event, text, self._armed[armed])

    def triggers(self, armed: Armed) -> tuple[tuple[PlannedEvent, str], ...]:
        """Return the triggers of an armed probe, the oldest first; a probe that is not armed has none."""
        return tuple(self._armed[armed].triggers) if armed in self._armed else ()

    def by_hand(self, armed: Armed) -> tuple[tuple[PlannedEvent, str], ...]:
        """Return the triggers that a person has added to a probe since it was armed, and that it is to keep."""
        return tuple(self._armed[armed].by_hand) if armed in self._armed else ()

    def disarm(self, armed: Armed) -> list[UndoFailure]:
        """Switch off, let the pump read what is in the buffers, then remove the events, as soon as no probe records.

        Returns the steps that failed; close() tries them again. A probe that is not armed any more is no error.
        """
        with self.lock:
            if armed not in self._armed:
                return []
            missed: dict[str, int | None] = {}
            with contextlib.suppress(KernelError):
                missed = self._losses.read_nmissed(armed.plan.events)
            plans = [one.plan for one in self._armed]
            failures = leave_shared_events(
                self._tracefs, self._instance, plans, list(self._armed).index(armed), self._armed[armed]
            )
            with contextlib.suppress(KernelError):
                self._losses.remember(armed.plan.events, missed)
            holding = self._armed.pop(armed)
            return failures + self._removal.park(armed.plan, holding, others_record=self._records)

    def counts(self, pump: Pump) -> LossCounts:
        """Return the losses since the session began, with those of its pump. Raises TargetLost."""
        with self.lock:
            events = [event for armed in self._armed for event in armed.plan.events]
            parked = [event for plan in self._removal.parked.plans for event in plan.events]
            counting = [armed for armed, holding in self._armed.items() if holding.mode is Mode.COUNT]
            return self._losses.counts(
                events, pump, [event for armed in counting for event in armed.plan.events], parked
            )

    def close(self) -> list[UndoFailure]:
        """Disarm everything, for good; every step is tried. A second call tries what failed in the first."""
        with self.lock:
            self._closed = True
            holdings = list(self._armed.values())
            self._armed.clear()
            return self._removal.remove_all(holdings)
