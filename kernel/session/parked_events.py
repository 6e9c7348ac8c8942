"""Events of probes that were disarmed while others record: off, but still defined.

To remove an event that was on empties the buffer of every instance it was on in, for its id may be given to another
(probe_remove_event_call sets clear_trace, then tracing_reset_all_online_cpus). What the other probes write between
our last reading and that moment would be lost, and no count of the kernel's tells it.
"""

from __future__ import annotations

from typing import NamedTuple

from kernel.cleanup.undo import UndoFailure
from kernel.session.arm_steps import Mode, ProbeSteps
from kernel.tracefs import Tracefs
from probes.plans.plan import Plan


class Parked(NamedTuple):
    """What is left of one probe."""

    plan: Plan
    holding: ProbeSteps


class ParkedEvents:
    """All of them, of one session."""

    def __init__(self, tracefs: Tracefs) -> None:
        self._definitions = tracefs.define("").path
        self._all: list[Parked] = []

    @property
    def plans(self) -> list[Plan]:
        """Whose events are still defined."""
        return [one.plan for one in self._all]

    def lay(self, plan: Plan, holding: ProbeSteps) -> list[UndoFailure]:
        """Switch a probe's events off, and take all back but their definitions."""
        failures = holding.switch_off()
        failures += holding.defined.run(down_to=holding.defined.first(self._definitions))
        holding.mode = Mode.OFF
        holding.triggers.clear()
        holding.by_hand.clear()
        holding.made.clear()
        if holding.stuck:
            self._all.append(Parked(plan, holding))
        return failures

    def wake(self, plan: Plan) -> Parked | None:
        """The one that has all events of a plan as the plan has them, if there is one; it rests no more."""
        wanted = _made(plan)
        for one in self._all:
            whole = len(one.holding.defined) == one.holding.defined.first(self._definitions) == len(wanted)
            if wanted and whole and not one.holding.enabled and not one.holding.counted and _made(one.plan) == wanted:
                self._all.remove(one)
                return one
        return None

    def in_the_way(self, plan: Plan) -> list[Parked]:
        """Those that have the name of one of its events; they rest no more."""
        names = {event.path for event in plan.events if event.line}
        return self._leave([one for one in self._all if names & {event.path for event in one.plan.events}])

    def all(self) -> list[Parked]:
        """Each; none rests any more."""
        return self._leave(list(self._all))

    def _leave(self, these: list[Parked]) -> list[Parked]:
        self._all = [one for one in self._all if one not in these]
        return these


def _made(plan: Plan) -> list[tuple[str, tuple[str, ...]]]:
    return [(event.path, tuple(event.lines)) for event in plan.events if event.line]
