"""Roles of events as the entry or exit of a call. Imports no screen code."""

from __future__ import annotations

from events.calls.call_values import EndRole
from probes.plans.plan import Plan, PlannedEvent
from probes.syntax.text import is_pattern


def ends_of(plans: tuple[Plan, ...]) -> dict[str, EndRole]:
    """Return the role of each event that is the end of a call, by its path."""
    ends: dict[str, EndRole] = {}
    for number, plan in enumerate(plans):
        paired = [event for event in plan.events if event.frame]
        carried = _common_arguments(paired)
        several = any(event.more for event in paired) or is_pattern(plan.probe.subject)
        is_exit_filtered = any(event.filter and event.at_exit for event in paired) and not all(
            event.filter for event in paired
        )
        for event in paired:
            address = ("__probe_func" if event.at_exit else "__probe_ip") if several else ""
            ends[event.path] = EndRole(
                number,
                event.at_exit,
                event.frame,
                event.frame_shift,
                carried,
                address,
                is_filtered_by_result=is_exit_filtered,
            )
    return ends


def _common_arguments(events: list[PlannedEvent]) -> tuple[str, ...]:
    """Return the names of arguments that all of the events carry to the exit."""
    names = [{column.name for column in event.columns if column.kept} for event in events]
    return tuple(sorted(set.intersection(*names))) if names else ()
