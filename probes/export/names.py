"""Check the names of exported events: each belongs to a single probe, and the script chooses their group."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from probes.export.dialect import CannotExport
from probes.plans.plan import Plan, PlannedEvent
from probes.rules.deletion import SYNTHETIC


def events_of(plans: Sequence[Plan]) -> list[PlannedEvent]:
    """Return the events of all plans, in the order of creation. Raises CannotExport for two events of a name."""
    events = [event for plan in plans for event in plan.events]
    names = Counter(event.event if event.line else event.path for event in events)
    filtered = {event.path for event in events if event.filter and not event.line}
    repeated = [name for name, count in names.items() if count > 1 and ("/" not in name or name in filtered)]
    if repeated:
        raise CannotExport(
            *(f"{name}: two probes have events of this name; give one another name" for name in repeated)
        )
    return events


def notes_of(plans: Sequence[Plan]) -> tuple[str, ...]:
    """Return the losses of lowering, each once."""
    return tuple(dict.fromkeys(loss for plan in plans for loss in plan.losses))


def is_synthetic(event: PlannedEvent) -> bool:
    """Return whether an event is synthetic: its group and name are global on a kernel."""
    return event.group == SYNTHETIC


def group_names(events: Sequence[PlannedEvent]) -> re.Pattern[str]:
    """Return a pattern for the group of these events in texts that name them: `GROUP` of `GROUP/EVENT`."""
    defined = (event for event in events if event.line and not is_synthetic(event))
    paths = sorted({(event.group, event.event) for event in defined}, reverse=True)
    alternatives = "|".join(rf"{re.escape(group)}(?=[./]{re.escape(event)}(?!\w))" for group, event in paths)
    return re.compile(rf"(?<![\w-])(?:{alternatives})") if alternatives else re.compile(r"(?!)")
