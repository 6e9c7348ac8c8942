"""Change the group of events in plans and lines: each session of a target has its own group."""

from __future__ import annotations

import re
from dataclasses import replace

from probes.plans.plan import Plan, PlannedEvent


def replace_group(text: str, old: str, new: str) -> str:
    """Return a kernel line with a session's group replaced, also within the name of a synthetic event.

    Such a name begins with the group and two underscores; the group, an underscore and a number are another session's
    group.
    """
    return re.sub(rf"(?<!\w){re.escape(old)}(?=__|\W|\Z)", new, text)


def has_chosen_name(plan: Plan, group: str) -> bool:
    """Return whether a session's plan has an event whose name does not change with the session's group."""
    return any(event.line and replace_group(event.path, group, "") == event.path for event in plan.events)


def with_group(plan: Plan, old: str, new: str) -> Plan:
    """Return the plan with a session's group replaced by another's in all lines."""

    def event_of(event: PlannedEvent) -> PlannedEvent:
        return replace(
            event,
            group=replace_group(event.group, old, new),
            event=replace_group(event.event, old, new),
            line=replace_group(event.line, old, new),
            remove=replace_group(event.remove, old, new),
            triggers=tuple(replace_group(text, old, new) for text in event.triggers),
            more=tuple(replace_group(text, old, new) for text in event.more),
        )

    return replace(plan, events=tuple(map(event_of, plan.events)))
