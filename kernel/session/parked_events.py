"""Keep the events of probes that are disarmed while others record: disabled, but still defined.

Removing an event that was enabled empties the buffer of every instance in which it was, as its id may be reused
(probe_remove_event_call sets clear_trace, then tracing_reset_all_online_cpus). Events which other probes write
between our last read and that moment would be lost, and no count of the kernel's includes them.
"""

from __future__ import annotations

import contextlib
from typing import NamedTuple

from kernel.cleanup.undo import UndoFailure
from kernel.errors import KernelError
from kernel.guards.loss_counts import LossCounter
from kernel.session.pause_tracing import TracingPause
from kernel.session.probe_steps import Mode, ProbeSteps
from kernel.tracefs import Tracefs
from probes.plans.plan import Plan


class Parked(NamedTuple):
    """Plan and remaining steps of one parked probe."""

    plan: Plan
    holding: ProbeSteps


class ParkedEvents:
    """Parked events of one session."""

    def __init__(self, tracefs: Tracefs) -> None:
        self._definitions = tracefs.define("").path
        self._parked: list[Parked] = []

    @property
    def plans(self) -> list[Plan]:
        """Plans whose events are still defined."""
        return [parked.plan for parked in self._parked]

    def park(self, plan: Plan, holding: ProbeSteps) -> list[UndoFailure]:
        """Disable a probe's events, and undo everything but their definitions."""
        failures = holding.switch_off()
        failures += holding.defined.run(down_to=holding.defined.first(self._definitions))
        holding.mode = Mode.OFF
        holding.triggers.clear()
        holding.by_hand.clear()
        holding.made.clear()
        if holding.stuck:
            self._parked.append(Parked(plan, holding))
        return failures

    def unpark_equal(self, plan: Plan) -> Parked | None:
        """Unpark the probe whose events equal those of a plan and return it; None: there is none."""
        definitions = _definitions_of(plan)
        for parked in self._parked:
            complete = (
                len(parked.holding.defined) == parked.holding.defined.first(self._definitions) == len(definitions)
            )
            if (
                definitions
                and complete
                and not parked.holding.enabled
                and not parked.holding.counted
                and _definitions_of(parked.plan) == definitions
            ):
                self._parked.remove(parked)
                return parked
        return None

    def unpark_named(self, plan: Plan) -> list[Parked]:
        """Unpark and return the probes that have an event of the same name as a plan."""
        names = {event.path for event in plan.events if event.line}
        return self._unpark(
            [parked for parked in self._parked if names & {event.path for event in parked.plan.events}]
        )

    def unpark_all(self) -> list[Parked]:
        """Unpark and return all probes."""
        return self._unpark(list(self._parked))

    def _unpark(self, selected: list[Parked]) -> list[Parked]:
        self._parked = [parked for parked in self._parked if parked not in selected]
        return selected


class EventRemoval:
    """Removal of the events of one session's probes, as soon as no event is lost by it."""

    def __init__(self, tracefs: Tracefs, pause: TracingPause, losses: LossCounter) -> None:
        self.parked = ParkedEvents(tracefs)
        """Events that wait for it."""
        self._definitions = tracefs.define("").path
        self._pause = pause
        self._losses = losses
        self._stuck: list[ProbeSteps] = []
        """Steps that failed, for the end of the session."""

    def park(self, plan: Plan, holding: ProbeSteps, *, others_record: bool) -> list[UndoFailure]:
        """Disable a probe's events; unless other probes record, remove them and those that were parked before."""
        failures = self.parked.park(plan, holding)
        if others_record:
            self._pause.read_all()
            return failures
        return failures + self.remove(self.parked.unpark_all())

    def remove(self, these: list[Parked]) -> list[UndoFailure]:
        """Remove the events of probes that were parked, and keep the counts of what they missed."""
        events = [event for one in these for event in one.plan.events]
        missed: dict[str, int | None] = {}
        with contextlib.suppress(KernelError):
            missed = self._losses.read_nmissed(events)
        failures = self._undo([one.holding for one in these])
        with contextlib.suppress(KernelError):
            self._losses.remember(events, missed)
        return failures

    def remove_all(self, armed: list[ProbeSteps]) -> list[UndoFailure]:
        """Remove the events of all probes, also of these; a second call tries what failed before."""
        holdings = [*(one.holding for one in self.parked.unpark_all()), *armed, *self._stuck]
        self._stuck.clear()
        return self._undo(holdings)

    def _undo(self, holdings: list[ProbeSteps]) -> list[UndoFailure]:
        """Switch off first, all of them; then let the pump read on, for removing an event empties our buffer."""
        if not holdings:
            return []
        failures = [failure for holding in reversed(holdings) for failure in holding.switch_off()]
        self._pause.read_all()
        # An event that several probes share goes when the triggers of all of them are gone.
        for holding in reversed(holdings):
            failures += holding.defined.run(down_to=holding.defined.first(self._definitions))
        failures += [failure for holding in reversed(holdings) for failure in holding.defined.run()]
        self._pause.look()
        self._stuck += [holding for holding in holdings if holding.stuck]
        return failures


def _definitions_of(plan: Plan) -> list[tuple[str, tuple[str, ...]]]:
    return [(event.path, tuple(event.lines)) for event in plan.events if event.line]
