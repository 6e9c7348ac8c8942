"""Set of armed probes of one target: arm, disarm, change filters. The first `arm` opens the session.

All of it waits for the kernel and may be called from a worker. Events already recorded are drained before each change
and put in order with it (`kernel.watch.session_queue`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from events.batch import GAP, PROBE_CHANGED, Batch
from kernel.cleanup.undo import UndoFailure
from kernel.connection.planner import Planner
from kernel.errors import KernelError, ProbeRefused, TargetLost, TargetUnusable
from kernel.guards.arm_progress import ArmProgress
from kernel.guards.limits import Limits
from kernel.session.armed import Armed
from kernel.session.pause_tracing import have_timestamps
from kernel.session.probe_steps import Mode
from kernel.session.protocol import AnySession
from kernel.session.rearm import ArmedState, Rearmed, arm_again, armed_state
from kernel.session.session import Session
from kernel.watch.event_fields import EventFields
from kernel.watch.loss_ledger import LossLedger
from kernel.watch.session_queue import SessionQueue
from probes.command import Armable, UserProbe, short_subject
from probes.plans.descriptor_sources import tells_of_descriptors
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbeKind
from probes.refusal import CannotLower
from probes.verdict import Verdict


class ArmedSet:
    """See the module; `kernel.watch.intake` gives the events their rows."""

    def __init__(
        self, planner: Planner, queue: SessionQueue, known: EventFields, losses: LossLedger, limits: Limits
    ) -> None:
        self.limits = limits
        """Limits of event rates."""
        self.on_comeback: Callable[[], None] = lambda: None
        """Called after probes were armed again (after a reconnect, or a disarm), from the thread that did it: it may
        wait for the kernel."""
        self.want_symbols: Callable[[], object] = self._load_symbols
        """Called where events have addresses, which symbols name: reads them, or has another thread read them."""
        self._planner = planner
        self._queue = queue
        self._known = known
        self._losses = losses

    def _load_symbols(self) -> None:
        self._planner.info.symbols.load()

    @property
    def probes(self) -> tuple[Armed, ...]:
        """Oldest first."""
        session = self._queue.session
        return session.probes.armed if session is not None else ()

    @property
    def session(self) -> AnySession | None:
        """The session; None until a probe was armed."""
        return self._queue.session

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Modes of the armed probes, the oldest first. Never waits."""
        session = self._queue.session
        return tuple(session.probes.mode(armed) for armed in session.probes.armed) if session is not None else ()

    def hold_recording(self) -> None:
        """Record nothing of what is armed from now on, until `record_together`. Raises TargetUnusable, TargetLost."""
        with self._queue.lock:
            session = self._queue.open()
            if isinstance(session, Session):
                session.pause.begin()
                session.probes.programs.hold()
                if session.probes.armed:
                    self._queue.read_all(session)
                    self._queue.entries.append(GAP)

    def read_all(self, patience: float) -> None:
        """Bring what is in the kernel's buffers now into the queue; `patience`: as for `Pump.settle`."""
        with self._queue.changes():
            if self._queue.session is not None:
                self._queue.read_all(self._queue.session, patience)

    def record_together(self) -> None:
        """Record all that is armed, from one time on; where that is so already do nothing. Raises TargetLost."""
        with self._queue.lock:
            if isinstance(self._queue.session, Session):
                self._queue.session.pause.end()
                self._queue.session.probes.programs.release()

    def arm(
        self,
        probe: Armable,
        *,
        at_any_rate: bool = False,
        rate_shown: bool = False,
        mode: Mode = Mode.RECORD,
        triggers: Sequence[str] = (),
        shape: Callable[[Plan], Plan] = lambda plan: plan,
        progress: ArmProgress | None = None,
    ) -> Armed:
        """Lower and arm. Raises CannotLower, ProbeRefused, TooFast, ArmingCancelled, TargetUnusable, TargetLost.

        Args:
            probe: probe as a person means it.
            at_any_rate: arm the probe even if its events come faster than the limit.
            rate_shown: its rate was shown before: raise TooFast only where it exceeds the limit.
            mode: `Mode.COUNT`: the kernel counts hits and records nothing.
            triggers: more triggers for each of its events that takes them.
            shape: change of its plan before it is armed.
            progress: gets each step, and may stop it; None: nobody looks.
        """
        progress = progress or ArmProgress()
        limits = Limits(0, self.limits.storm) if at_any_rate else self.limits
        if rate_shown:
            limits = replace(limits, asks_about_several=False)
        with self._queue.changes():
            session = self._queue.open()
            # An event's name means one thing for as long as its events may be seen.
            others = [plan for plan in self._known.plans if plan.probe != probe]
            plans = [*others, *(armed.plan for armed in session.probes.armed)]
            taken = _paths(plans)
            kinds = self._planner.kinds(armed.plan for armed in session.probes.armed)

            def lowered() -> Plan:
                plan = self._planner.lower(probe, session.group, taken, self._gone(probe, session), kinds)
                return shape(self._planner.with_triggers(plan, triggers))

            # What is in the queue was made under the formats that hold until now.
            self._queue.drain(session)
            armed = self._armed(session, lowered, limits, mode, progress)
            self._queue.entries.append(armed)
            self._known.add(armed)
        if self._known.wants_symbols(armed) or self._known.with_stacks:
            self.want_symbols()
        return armed

    def _armed(
        self,
        session: AnySession,
        lowered: Callable[[], Plan],
        limits: Limits,
        mode: Mode,
        progress: ArmProgress,
    ) -> Armed:
        """Arm a plan, and another one in its place as long as the kernel refuses functions their own BPF programs."""
        while True:
            progress.begin("looking at its functions")
            plan = lowered()
            progress.begin("beginning")
            with self._around(session, (text for event in plan.events for text in event.triggers)):
                try:
                    return session.probes.arm(plan, limits, mode, progress=progress)
                except ProbeRefused as error:
                    if not error.functions:
                        raise
                    self._planner.forget_refused(error)

    def tracefs_refusal(self, armed: Armed) -> str:
        """Return why only programs can record a probe; empty: tracefs can, too. Raises TargetLost."""
        return self._planner.tracefs_refusal(armed.plan.probe)

    def _gone(self, probe: Armable, session: AnySession) -> set[str]:
        """Return the paths of events that only probes armed before had; their rows can still be read."""
        kept = [plan for plan in self._known.plans if plan.probe == probe]
        kept += [armed.plan for armed in session.probes.armed]
        return _paths(self._known.plans) - _paths(kept)

    def disarm(self, armed: Armed) -> list[UndoFailure]:
        """Take one probe away; its events stay in the store, its hits are forgotten."""
        with self._queue.changes():
            if self._queue.session is None:
                return []
            failures = self._queue.session.probes.disarm(armed)
            self._queue.drain(self._queue.session)
            # It may come back under the same name: a call of then must not be paired with one of now.
            self._queue.entries += _marks(armed.plan)
        self._losses.forget_hits(armed.plan.events)
        return failures

    def switch(self, armed: Armed, mode: Mode) -> list[UndoFailure]:
        """Let a probe record, only count, or do nothing. Raises ProbeRefused, FileRefused, TargetLost.

        Counting that begins later starts at 0, whatever was counted before an outage.
        """
        with self._queue.changes():
            session = self._queue.session
            if session is None:
                return []
            counted = session.probes.mode(armed) is Mode.COUNT
            marks = _marks(armed.plan)
            if marks and (mode is Mode.RECORD or marks == [GAP]):
                # An entry of before must not be paired with an exit of now. Where calls were followed meanwhile
                # (counted, or by triggers), exits of calls will come whose entries were not recorded.
                self._queue.drain(session)
                followed = counted or session.probes.triggers(armed)
                self._queue.entries += [GAP] if followed else marks
            failures = session.probes.switch(armed, mode)
        if counted and mode is not Mode.COUNT:
            # Of kprobes the kernel counts hits in every mode.
            self._losses.forget_hits([event for event in armed.plan.events if event.line[:1] not in ("p", "r")])
        return failures

    @contextlib.contextmanager
    def pause(self, session: Session) -> Iterator[None]:
        """Record no events inside, with the mark of a gap that no call crosses. Raises FileRefused, TargetLost."""
        with self._queue.changes(), self._pause(session):
            yield

    @contextlib.contextmanager
    def _pause(self, session: Session) -> Iterator[None]:
        was_paused = session.pause.is_paused
        with session.pause.hold():
            self._queue.drain(session)
            if not was_paused:  # else who began the pause has marked it
                self._queue.entries.append(GAP)
            yield

    def _around(self, session: AnySession, triggers: Iterable[str]) -> contextlib.AbstractContextManager[None]:
        """Return a context for adding triggers beside armed probes: `pause` if one of them has time stamps."""
        if isinstance(session, Session) and session.probes.armed and have_timestamps(triggers):
            return self._pause(session)
        return contextlib.nullcontext()

    def change_filter(self, armed: Armed, text: str) -> Armed:
        """Record of an armed probe only what passes another filter, from now on; empty: everything.

        Raises CannotLower, ProbeRefused, TargetUnusable, TargetLost; nothing has changed then.
        """
        probe = armed.plan.probe
        if not isinstance(probe, Probe | UserProbe) or getattr(probe, "kind", None) is ProbeKind.EVENT:
            raise TargetUnusable(f"the filter of {short_subject(probe)} can't be changed: arm it anew")
        wanted = replace(probe, filter=text)
        with self._queue.changes():
            session = self._queue.open()
            lowered = self._planner.lower_like(armed.plan, wanted, session.group)
            events = [
                replace(one, filter=other.filter, programs=other.programs, frame_shift=other.frame_shift)
                for one, other in zip(armed.plan.events, lowered.events, strict=True)
            ]
            self._queue.read_all(session)  # what passed the filter of before comes before the mark
            changed = session.probes.change_filters(armed, replace(armed.plan, probe=wanted, events=tuple(events)))
            # An entry that passed one filter must not be paired with an exit that passed the other. A recording that
            # is being written has to know the plan.
            self._queue.entries += [*_marks(changed.plan), changed]
            self._known.change(armed.plan, changed.plan)
        return changed

    def rearm(self, armed: Armed, plan: Plan) -> Armed:
        """Take a probe away and arm it by another plan of the same, with what was told to it since.

        Raises ProbeRefused, FileRefused, TargetUnusable: it is armed again as it was; TargetLost.
        """
        session = self._queue.session
        if session is None or armed not in session.probes.armed:
            raise TargetUnusable(f"{short_subject(armed.plan.probe)} is not armed any more")
        was = armed_state(session, armed)
        self.disarm(armed)
        try:
            again = self._arm_again(plan, was)
            if again.rejected_triggers:
                self.disarm(again.armed)
                raise again.rejected_triggers[0][1]
        except TargetLost:
            raise
        except KernelError:
            self._arm_again(armed.plan, was)
            self.on_comeback()
            raise
        self.on_comeback()
        return again.armed

    def armed_state(self, armed: Armed) -> ArmedState:
        """Return what an armed probe was told beside its plan. Raises TargetUnusable where nothing is armed."""
        if self._queue.session is None:
            raise TargetUnusable(f"{short_subject(armed.plan.probe)} is not armed any more")
        return armed_state(self._queue.session, armed)

    def arm_back(self, plan: Plan, was: ArmedState) -> Rearmed:
        """Arm a probe that was disarmed, with all that it was told. Raises what `arm` of a session raises."""
        if any(armed.plan.probe == plan.probe for armed in self.probes):
            raise TargetUnusable(f"{short_subject(plan.probe)} is armed again already")
        again = self._arm_again(plan, was)
        self.on_comeback()
        return again

    def _arm_again(self, plan: Plan, was: ArmedState) -> Rearmed:
        with self._queue.changes():
            session = self._queue.open()
            self._queue.drain(session)
            again = arm_again(session, plan, was)
            self._queue.entries.append(again.armed)
            self._known.add(again.armed)
        return again

    def add_trigger(self, armed: Armed, event: PlannedEvent, text: str) -> None:
        """Give an armed probe's event a trigger, in the kernel's words.

        Raises ProbeRefused, FileRefused, TargetUnusable, TargetLost.
        """
        try:
            text = self._planner.lowered_trigger(armed.plan, event, text)
        except CannotLower as error:
            raise ProbeRefused(Verdict(text, error.refusal)) from None
        with self._queue.changes():
            session = self._queue.session
            if session is not None:
                self._queue.drain(session)
                with self._around(session, [text]):
                    formats = session.probes.add_trigger(armed, event, text)
                self._queue.entries.append(formats)
                self._known.add_trigger(event, text)
        if event.path in self._known.with_stacks:
            self.want_symbols()

    def follow(self, session: AnySession) -> None:
        """Take what another session has armed after a reconnect; the caller holds the queue's lock."""
        for armed in session.probes.armed:
            self._known.add(armed)
            for event, text in session.probes.triggers(armed):
                self._known.add_trigger(event, text)


def _paths(plans: Iterable[Plan]) -> set[str]:
    return {event.path for plan in plans for event in plan.events}


def _marks(plan: Plan) -> list[Batch]:
    """Return the mark behind what was read before a probe was taken away or changed, in a list; of a probe whose
    events stand alone none.
    """
    if tells_of_descriptors(plan):
        return [GAP]
    return [PROBE_CHANGED] if any(event.frame for event in plan.events) else []
