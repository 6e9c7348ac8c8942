"""Plans and paths of events under another group for ours: each session of a target has a group of its own."""

from __future__ import annotations

import re
from dataclasses import replace

from probes.plans.plan import Plan, PlannedEvent


def renamed(text: str, old: str, new: str) -> str:
    """Return a line of the kernel's with another group for one of ours, also where a synthetic event's name has it.

    Such a name has the group and two underscores before its own; one underscore and a number make another session's.
    """
    return re.sub(rf"(?<!\w){re.escape(old)}(?=__|\W|\Z)", new, text)


def has_chosen_name(plan: Plan, group: str) -> bool:
    """Return whether an event of a session's plan has a name that does not change with the group of the session."""
    return any(event.line and renamed(event.path, group, "") == event.path for event in plan.events)


def regrouped(plan: Plan, old: str, new: str) -> Plan:
    """Return the same plan with the events of one session's group in another's, wherever a line names them."""

    def event_of(event: PlannedEvent) -> PlannedEvent:
        return replace(
            event,
            group=renamed(event.group, old, new),
            event=renamed(event.event, old, new),
            line=renamed(event.line, old, new),
            remove=renamed(event.remove, old, new),
            triggers=tuple(renamed(text, old, new) for text in event.triggers),
            more=tuple(renamed(text, old, new) for text in event.more),
        )

    return replace(plan, events=tuple(map(event_of, plan.events)))
