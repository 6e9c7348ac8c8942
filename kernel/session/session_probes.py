"""The armed probes of a session, whether tracefs or BPF programs record their events."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from events.format import EventFormat
from events.loss_counts import LossCounts
from kernel.bpf.loaded import ProgramGroups
from kernel.bpf.objects.tables import MapTable
from kernel.cleanup.undo import UndoFailure
from kernel.errors import TargetUnusable
from kernel.guards.arm_progress import ArmProgress
from kernel.guards.limits import UNLIMITED, Limits
from kernel.pump import Pump
from kernel.session.armed import Armed
from kernel.session.armed_probes import ArmedProbes
from kernel.session.armed_programs import ArmedPrograms
from kernel.session.probe_steps import Mode
from probes.bpf.lower import NO_TRIGGERS
from probes.plans.plan import Plan, PlannedEvent
from probes.remedies import BY_TRACEFS


class SessionProbes:
    """Armed probes of a session by both means, the oldest first. Calls may come from any thread."""

    def __init__(self, events: ArmedProbes, programs: ArmedPrograms) -> None:
        self.events = events
        """Probes whose events tracefs records."""
        self.programs = programs
        """Probes whose events BPF programs record."""
        self._order: list[object] = []
        """Keys of all probes ever armed, the oldest first."""

    @property
    def lock(self) -> threading.RLock:
        """Held during each change."""
        return self.events.lock

    @property
    def armed(self) -> tuple[Armed, ...]:
        """Oldest first."""
        found = (*self.events.armed, *self.programs.armed)
        if not self.programs.armed:
            return found
        order = {id(key): place for place, key in enumerate(self._order)}
        return tuple(sorted(found, key=lambda one: order.get(id(one.key), 0)))

    def arm(
        self,
        plan: Plan,
        limits: Limits = UNLIMITED,
        mode: Mode = Mode.RECORD,
        key: object | None = None,
        progress: ArmProgress | None = None,
    ) -> Armed:
        """Arm a plan; see `ArmedProbes.arm` and `ArmedPrograms.arm`."""
        with self.lock:
            if plan.by_programs and self.events.closed:
                raise TargetUnusable("the session is closed")
            armed = (self.programs if plan.by_programs else self.events).arm(plan, limits, mode, key, progress)
            present = {id(one.key) for one in (*self.events.armed, *self.programs.armed)}
            self._order = [*(one for one in self._order if id(one) in present and one is not armed.key), armed.key]
            return armed

    def disarm(self, armed: Armed) -> list[UndoFailure]:
        """Take a probe away; see `ArmedProbes.disarm`."""
        with self.lock:
            if not armed.plan.by_programs:
                return self.events.disarm(armed)
            self.programs.disarm(armed)
            return []

    def change_filters(self, armed: Armed, plan: Plan) -> Armed:
        """Give an armed probe other filters; see `ArmedProbes.change_filters`."""
        with self.lock:
            return (self.programs if armed.plan.by_programs else self.events).change_filters(armed, plan)

    def switch(self, armed: Armed, mode: Mode) -> list[UndoFailure]:
        """Let a probe record, only count, or do nothing; see `ArmedProbes.switch`."""
        with self.lock:
            if not armed.plan.by_programs:
                return self.events.switch(armed, mode)
            present = next((one for one in self.programs.armed if one.key is armed.key), None)
            if present is not None:
                self.programs.switch(present, mode)
            return []

    def groups(self, armed: Armed) -> dict[str, list[ProgramGroups]]:
        """Return the groups that the programs of a probe have put calls into, by `group/event`; empty: it has none.

        Raises BpfRefused, TargetLost.
        """
        with self.lock:
            return self.programs.groups(armed)

    def tables(self, armed: Armed) -> list[MapTable]:
        """Return the contents of the maps of a compiled object; empty: the probe is none.

        Raises BpfRefused, FileRefused, TargetLost.
        """
        with self.lock:
            return self.programs.tables(armed)

    def mode(self, armed: Armed) -> Mode:
        """Return the mode of a probe; OFF: the probe is not armed any more."""
        return (self.programs if armed.plan.by_programs else self.events).mode(armed)

    def add_trigger(
        self, armed: Armed, event: PlannedEvent, text: str, *, by_hand: bool = True
    ) -> Mapping[int, EventFormat]:
        """Give an armed probe's event one more trigger; see `ArmedProbes.add_trigger`."""
        if armed.plan.by_programs:
            raise TargetUnusable(NO_TRIGGERS, BY_TRACEFS)
        return self.events.add_trigger(armed, event, text, by_hand=by_hand)

    def remove_trigger(self, armed: Armed, event: PlannedEvent, text: str) -> None:
        """Take a trigger away; one that is not there is no error. Raises FileRefused, TargetLost."""
        self.events.remove_trigger(armed, event, text)

    def triggers(self, armed: Armed) -> tuple[tuple[PlannedEvent, str], ...]:
        """Return the triggers of an armed probe, the oldest first; a probe of programs has none."""
        return self.events.triggers(armed)

    def by_hand(self, armed: Armed) -> tuple[tuple[PlannedEvent, str], ...]:
        """Return the triggers that a person has added to a probe since it was armed, and that it is to keep."""
        return self.events.by_hand(armed)

    def counts(self, pump: Pump) -> LossCounts:
        """Return the losses since the session began, with those of its pump. Raises TargetLost."""
        with self.lock:
            return self.programs.add_counts(self.events.counts(pump))

    def close(self) -> list[UndoFailure]:
        """Disarm everything, for good; every step is tried. A second call tries what failed in the first."""
        with self.lock:
            self.programs.close()
            return self.events.close()
