"""Lower the definition of a user event to its line, which a session registers for as long as it lasts."""

from __future__ import annotations

from probes.facts.facts import Feature, TargetFacts
from probes.plans.plan import Plan, PlanColumn, PlannedEvent
from probes.refusal import CannotLower, own_refusal
from probes.user_events.event import UserEvent
from probes.user_events.kernel_reading import GROUP, PREFIX, KernelDefinition


def lower_user_event(event: UserEvent, facts: TargetFacts) -> Plan:
    """Lower a user event, as `lower` does. Its name is kept: programs write the event by it.

    Whether the kernel has an event of this name with other fields is part of the verdict on the line.
    """
    if not facts.has(Feature.USER_EVENTS):
        hint = "No events of programs: the kernel has no user_events (CONFIG_USER_EVENTS, Linux 6.4 or newer)"
        raise CannotLower(own_refusal("missing_capability", "u", 0, hint))
    fields = KernelDefinition(event.name, event.fields).fields_text
    columns = tuple(PlanColumn(field.name, field.name) for field in event.fields)
    remove = f"-:{GROUP}/{event.name} {fields}".rstrip()
    line = f"{PREFIX}{event.definition}"
    return Plan(event, (PlannedEvent(GROUP, event.name, line, remove, filter=event.filter, columns=columns),))
