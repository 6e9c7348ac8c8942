"""Names of exported events: each belongs to one probe, and the script that makes them chooses their group."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from probes.export.dialect import CannotExport
from probes.plans.plan import Plan, PlannedEvent
from probes.rules.deletion import SYNTHETIC


def events_of(plans: Sequence[Plan]) -> list[PlannedEvent]:
    """Events of all plans, in the order in which they are made. Raises CannotExport where two have one name."""
    events = [event for plan in plans for event in plan.events]
    names = Counter(event.event if event.line else event.path for event in events)
    filtered = {event.path for event in events if event.filter and not event.line}
    twice = [name for name, count in names.items() if count > 1 and ("/" not in name or name in filtered)]
    if twice:
        raise CannotExport(*(f"{name}: two probes have events of this name; give one another name" for name in twice))
    return events


def notes_of(plans: Sequence[Plan]) -> tuple[str, ...]:
    """What was lost in lowering."""
    return tuple(dict.fromkeys(loss for plan in plans for loss in plan.losses))


def is_synthetic(event: PlannedEvent) -> bool:
    """Whether it is a synthetic event, whose group and name are the same for everybody on the kernel."""
    return event.group == SYNTHETIC


def group_names(events: Sequence[PlannedEvent]) -> re.Pattern[str]:
    """What finds the group of these events in a text, where one of them is named: `GROUP` of `GROUP/EVENT`."""
    made = (event for event in events if event.line and not is_synthetic(event))
    ours = sorted({(event.group, event.event) for event in made}, reverse=True)
    ways = "|".join(rf"{re.escape(group)}(?=[./]{re.escape(event)}(?!\w))" for group, event in ours)
    return re.compile(rf"(?<![\w-])(?:{ways})") if ways else re.compile(r"(?!)")
