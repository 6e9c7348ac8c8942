"""Which events are ends of calls; no screen."""

from __future__ import annotations

from events.pairing import EndOf
from probes.plan import Plan, PlannedEvent


def ends_of(plans: tuple[Plan, ...]) -> dict[str, EndOf]:
    """The events that are ends of calls, by their path."""
    ends: dict[str, EndOf] = {}
    for number, plan in enumerate(plans):
        paired = [event for event in plan.events if event.frame]
        kept = _kept(paired)
        for event in paired:
            ends[event.path] = EndOf(number, event.at_exit, event.frame, event.frame_shift, kept)
    return ends


def _kept(events: list[PlannedEvent]) -> tuple[str, ...]:
    """Names of arguments that all of the events have."""
    names = [{column.name for column in event.columns if column.kept} for event in events]
    return tuple(sorted(set.intersection(*names))) if names else ()
