"""Set of armed probes of one target: arm, disarm, change filters. The first `arm` opens the session.

All of it waits for the kernel and may be called from a worker. Events already recorded are drained before each change
and put in order with it, so that events are read under the formats that they were made under.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from events.batch import Batch
from events.format import EventFormat
from events.store.outage_mark import Outage
from kernel.cleanup.undo import UndoFailure
from kernel.connection.planner import Connection, kind_of
from kernel.errors import ConnectionGone, KernelError, TargetLost, TargetUnusable
from kernel.guards.limits import Limits
from kernel.guards.row_bounds import SCREEN, RowBounds
from kernel.pump import Pump, newest
from kernel.session.arm_steps import Mode
from kernel.session.armed import Armed
from kernel.session.protocol import AnySession, open_session
from kernel.session.rearm import ArmedState, Rearmed, arm_again, told
from kernel.session.session import Session
from kernel.watch.counting_states import Phase
from kernel.watch.event_fields import EventFields
from kernel.watch.storm_guard import StormWatcher
from probes.command import Armable, UserProbe
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbeKind

if TYPE_CHECKING:
    from kernel.watch.histogram import Histograms


_PROBE_CHANGED: Final = Batch((), drained=False, after_gap=True, changed=True)
"""Behind what was read before a probe was taken away or changed."""


class NewGroup(NamedTuple):
    """The group of a session that goes on with what another one had armed."""

    old: str
    new: str


Entry = Batch | Mapping[int, EventFormat] | Armed | Outage | NewGroup
"""Events, or what their ids mean from here on, or a time of which there are none."""


class ArmedSet:
    """See the module; `kernel.watch.watch.Watch` reads what comes."""

    def __init__(self, connection: Connection, limits: Limits, bounds: RowBounds = SCREEN) -> None:
        self.connection = connection
        self.bounds = bounds
        """Bounds of the memory for events."""
        self.limits = limits
        """Limits of event rates."""
        self.guard = StormWatcher(limits.storm)
        """Stops what is faster; `Watch.counts` has it look."""
        self.usual_kb = 0
        """Size of the buffer of each CPU before it was changed; 0: it never was."""
        self.wanted_kb = 0
        """Size of the buffer that was asked for, in KiB; 0: unchanged."""
        self.known = EventFields(connection.namer)
        """Fields, and the names of their values."""
        self.on_data: Callable[[], None] = lambda: None
        """Called from any thread when there is something to tick for."""
        self.on_comeback: Callable[[], None] = lambda: None
        """Called when a line that was cut is back, from the thread that made it: it may wait for the kernel."""
        self._session: AnySession | None = None
        self._histograms: Histograms | None = None
        self._lock = threading.Lock()
        self._inbox: list[Entry] = []
        """Batches, and what was armed between them, in the order in which the kernel made them."""
        self._closed = False
        self.closing = False
        """True while everything is being disarmed, which may take a slow kernel half a minute."""

    @property
    def histograms(self) -> Histograms:
        """Counting of these probes in the kernel, which outlasts every view of it."""
        if self._histograms is None:
            from kernel.watch.histogram import Histograms  # nobody may ask for it

            self._histograms = Histograms(self)
        return self._histograms

    @property
    def counting(self) -> Phase:
        """State of counting in the kernel. Never waits."""
        return self._histograms.phase if self._histograms is not None else Phase.OFF

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Modes of the armed probes, the oldest first. Never waits."""
        session = self._session
        return tuple(session.probes.mode(armed) for armed in session.probes.armed) if session is not None else ()

    @abstractmethod
    def _opened(self, session: AnySession) -> None:
        """Prepare for a session that is open, before anything is read of it."""

    @property
    def armed(self) -> tuple[Armed, ...]:
        """Oldest first."""
        return self._session.probes.armed if self._session else ()

    @property
    def session(self) -> AnySession | None:
        """The session; None until a probe was armed."""
        return self._session

    @property
    def error(self) -> KernelError | None:
        """Why no more events will come; None while they may."""
        return self._session.pump.error if self._session else None

    def begin(self) -> None:
        """Open the session without arming: a recording shows what it holds. Raises TargetUnusable, TargetLost."""
        with self._lock:
            self._open()
        self.on_data()

    def hold_recording(self) -> None:
        """Record nothing of what is armed from now on, until `record_together`. Raises TargetUnusable, TargetLost."""
        with self._lock:
            session = self._open()
            if isinstance(session, Session):
                session.stillness.begin()

    def record_together(self) -> None:
        """Record all that is armed, from one time on; where that is so already do nothing. Raises TargetLost."""
        with self._lock:
            if isinstance(self._session, Session):
                self._session.stillness.end()

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
                plans = [*others, *(armed.plan for armed in session.probes.armed)]
                taken = _paths(plans)
                kinds = {event.path: kind_of(event) for armed in session.probes.armed for event in armed.plan.events}
                plan = self.connection.lower(probe, session.group, taken, self._gone(probe, session), kinds)
                plan = self.connection.with_triggers(plan, triggers)
                # What is in the queue was made under the formats that hold until now.
                self._take_queue(session)
                armed = session.probes.arm(plan, limits, mode)
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
        kept += [armed.plan for armed in session.probes.armed]
        return _paths(self.known.plans) - _paths(kept)

    def disarm(self, armed: Armed) -> list[UndoFailure]:
        """Take one probe away; its events stay in the store."""
        with self._lock:
            if self._session is None:
                return []
            failures = self._session.probes.disarm(armed)
            self._take_queue(self._session)
            if any(event.frame for event in armed.plan.events):
                # It may come back under the same name: a call of then must not be paired with one of now.
                self._inbox.append(_PROBE_CHANGED)
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
                self._take_queue(session)
                self._inbox.append(_PROBE_CHANGED)
            failures = session.probes.switch(armed, mode)
        self.on_data()
        return failures

    def mark_gap(self) -> None:
        """Mark a gap behind the events read so far: no call reaches across it."""
        with self._lock:
            if self._session is not None:
                self._take_queue(self._session)
                self._inbox.append(Batch((), drained=False, after_gap=True))
        self.on_data()

    def resize(self, kb: int) -> None:
        """Make the ring buffer of each CPU so large. Raises FileRefused, TargetUnusable, TargetLost."""
        if self._session is not None:
            before = self._session.resize(kb)
            self.usual_kb = self.usual_kb or before
            self.wanted_kb = kb

    def change_filter(self, armed: Armed, text: str) -> Armed:
        """Record of an armed probe only what passes another filter, from now on; empty: everything.

        Raises CannotLower, ProbeRefused, TargetUnusable, TargetLost; nothing has changed then.
        """
        probe = armed.plan.probe
        if not isinstance(probe, Probe | UserProbe) or getattr(probe, "kind", None) is ProbeKind.EVENT:
            raise TargetUnusable(f"the filter of {probe.subject} can't be changed: arm it anew")
        wanted = replace(probe, filter=text)
        with self._lock:
            session = self._open()
            lowered = self.connection.lower(wanted, session.group)
            filters = [event.filter for event in lowered.events]
            events = [replace(one, filter=own) for one, own in zip(armed.plan.events, filters, strict=True)]
            session.pump.settle()  # what passed the filter of before comes before the mark
            self._take_queue(session)
            changed = session.probes.change_filters(armed, replace(armed.plan, probe=wanted, events=tuple(events)))
            if any(event.frame for event in changed.plan.events):
                # An entry that passed one filter must not be paired with an exit that passed the other.
                self._inbox.append(_PROBE_CHANGED)
            self._inbox.append(changed)  # a recording that is being written has to know its plan
            self.known.change(armed.plan, changed.plan)
        self.on_data()
        return changed

    def rearm(self, armed: Armed, plan: Plan) -> Armed:
        """Take a probe away and arm it by another plan of the same, with what was told to it since.

        Raises ProbeRefused, FileRefused, TargetUnusable: it is armed again as it was; TargetLost.
        """
        session = self._session
        if session is None or armed not in session.probes.armed:
            raise TargetUnusable(f"{armed.plan.probe.subject} is not armed any more")
        was = told(session, armed)
        self.disarm(armed)
        try:
            again = self._arm_again(plan, was)
            if again.refused:
                self.disarm(again.armed)
                raise again.refused[0][1]
        except TargetLost:
            raise
        except KernelError:
            self._arm_again(armed.plan, was)
            raise
        return again.armed

    def told_to(self, armed: Armed) -> ArmedState:
        """Return what an armed probe was told beside its plan. Raises TargetUnusable where nothing is armed."""
        if self._session is None:
            raise TargetUnusable(f"{armed.plan.probe.subject} is not armed any more")
        return told(self._session, armed)

    def arm_back(self, plan: Plan, was: ArmedState) -> Rearmed:
        """Arm a probe that was disarmed, with all that it was told. Raises what `arm` of a session raises."""
        if any(armed.plan.probe == plan.probe for armed in self.armed):
            raise TargetUnusable(f"{plan.probe.subject} is armed again already")
        return self._arm_again(plan, was)

    def _arm_again(self, plan: Plan, was: ArmedState) -> Rearmed:
        with self._lock:
            session = self._open()
            self._take_queue(session)
            again = arm_again(session, plan, was)
            self._inbox.append(again.armed)
            self.known.add(again.armed)
        self.on_data()
        return again

    def add_trigger(self, armed: Armed, event: PlannedEvent, text: str) -> None:
        """Give an armed probe's event a trigger. Raises ProbeRefused, FileRefused, TargetUnusable, TargetLost."""
        with self._lock:
            if self._session is not None:
                self._take_queue(self._session)
                self._inbox.append(self._session.probes.add_trigger(armed, event, text))
                self.known.add_trigger(event, text)
        if event.path in self.known.with_stacks:
            self.connection.load_symbols()
        self.on_data()

    def leave_session(self) -> None:
        """Leave a session in which nothing is armed, its line is cut: the next `arm` opens another."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            session.close()  # over there nobody hears it; here its thread ends

    def exchange(self, make: Callable[[AnySession], tuple[AnySession, Outage]]) -> Outage:
        """Go on with another session in the place of one whose line was cut; what came of that one stays.

        `make` opens and arms it, and says how long there was none. Where it raises, nothing has changed.
        """
        with self._lock:
            old = self._session
            if old is None or self._closed:
                raise ConnectionGone(f"{self.connection.target.name} was left meanwhile")
            session, cut = make(old)
            old.pump.close()
            self._take_queue(old)
            self._inbox += [*([cut] if cut.marked else []), NewGroup(old.group, session.group), *session.probes.armed]
            session.pump.on_data = self._tell
            self._follow(session)
            for armed in session.probes.armed:
                self.known.add(armed)
                for event, text in session.probes.triggers(armed):
                    self.known.add_trigger(event, text)
            self.guard.restart()
        self.on_data()
        return cut

    def _take_queue(self, session: AnySession) -> None:
        """Put what was read behind what waits here; of more than the queue may hold the oldest events go."""
        self._inbox += session.pump.drain()
        if isinstance(session.pump, Pump):  # a recording is no longer than its file
            self._inbox, dropped = newest(self._inbox, self.bounds.queued)
            session.pump.count_dropped(dropped)

    def _follow(self, session: AnySession) -> None:
        """Follow this session from now on; the former one gives no more events."""
        self._session = session

    def _open(self) -> AnySession:
        if self._closed:
            raise TargetUnusable(f"{self.connection.target.name} was left meanwhile")
        if self._session is None:
            self._session = open_session(self.connection.target, self.bounds.queued)
            self._session.pump.on_data = self._tell
            self.known.group = self._session.group
            self._opened(self._session)
            for armed in self._session.probes.armed:
                self.known.add(armed)
        return self._session

    def _tell(self) -> None:
        self.on_data()


def _paths(plans: Iterable[Plan]) -> set[str]:
    return {event.path for plan in plans for event in plan.events}
