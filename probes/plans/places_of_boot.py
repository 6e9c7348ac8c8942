"""Put the instructions of another boot's kernel into a plan, whose events keep their names, filters and triggers."""

from __future__ import annotations

from dataclasses import replace

from probes.plans.plan import Plan, PlannedEvent


def with_lines_of(plan: Plan, fresh: Plan) -> Plan:
    """Return a plan with the places and values of a plan of the same probe, lowered for the kernel that runs now."""

    def event_of(event: PlannedEvent, lowered: PlannedEvent) -> PlannedEvent:
        head = event.line.partition(" ")[0]
        line, *more = (f"{head} {text.partition(' ')[2]}" for text in lowered.lines)
        return replace(event, line=line, more=tuple(more), columns=lowered.columns)

    return replace(plan, events=tuple(map(event_of, plan.events, fresh.events)), losses=fresh.losses)
