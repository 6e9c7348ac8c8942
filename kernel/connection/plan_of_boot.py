"""Lower what changes in a plan when its kernel restarts: addresses of variables, instructions of functions."""

from __future__ import annotations

from dataclasses import replace

from kernel.connection.planner import Planner
from probes.plans.places_of_boot import with_lines_of
from probes.plans.plan import Plan
from probes.probe import Probe


def plan_of_boot(planner: Planner, plan: Plan, group: str) -> Plan:
    """Return a plan with the addresses that its variables have since the kernel has restarted, and the instructions
    of its functions: another kernel may run.

    Raises CannotLower, TargetLost.
    """
    if plan.sampled is not None:
        return replace(plan, sampled=planner.lower(plan.probe, group).sampled)
    if isinstance(plan.probe, Probe) and plan.probe.needs_code:
        return with_lines_of(plan, planner.lower(plan.probe, group))
    if not any(program.memory is not None for program in plan.programs):
        return plan
    memory = planner.lower(plan.probe, group).programs[0].memory
    events = [
        replace(event, programs=tuple(replace(one, memory=memory) for one in event.programs)) for event in plan.events
    ]
    return replace(plan, events=tuple(events))
