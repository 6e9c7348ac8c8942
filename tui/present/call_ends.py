"""Which events are ends of calls; no screen."""

from __future__ import annotations

from events.calls.call_values import EndRole
from probes.plans.plan import Plan, PlannedEvent
from probes.syntax.text import is_pattern


def ends_of(plans: tuple[Plan, ...]) -> dict[str, EndRole]:
    """The events that are ends of calls, by their path."""
    ends: dict[str, EndRole] = {}
    for number, plan in enumerate(plans):
        paired = [event for event in plan.events if event.frame]
        kept = _kept(paired)
        several = any(event.more for event in paired) or is_pattern(plan.probe.subject)
        chosen = any(event.filter and event.at_exit for event in paired) and not all(event.filter for event in paired)
        for event in paired:
            address = ("__probe_func" if event.at_exit else "__probe_ip") if several else ""
            ends[event.path] = EndRole(
                number, event.at_exit, event.frame, event.frame_shift, kept, address, chosen=chosen
            )
    return ends


def _kept(events: list[PlannedEvent]) -> tuple[str, ...]:
    """Names of arguments that all of the events have."""
    names = [{column.name for column in event.columns if column.kept} for event in events]
    return tuple(sorted(set.intersection(*names))) if names else ()
