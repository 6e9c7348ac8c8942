"""Keep the events of probes that are disarmed while others record: disabled, but still defined.

Removing an event that was enabled empties the buffer of every instance in which it was, as its id may be reused
(probe_remove_event_call sets clear_trace, then tracing_reset_all_online_cpus). Events which other probes write
between our last read and that moment would be lost, and no count of the kernel's includes them.
"""

from __future__ import annotations

from typing import NamedTuple

from kernel.cleanup.undo import UndoFailure
from kernel.session.arm_steps import Mode, ProbeSteps
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


def _definitions_of(plan: Plan) -> list[tuple[str, tuple[str, ...]]]:
    return [(event.path, tuple(event.lines)) for event in plan.events if event.line]
