"""Convert plans to plain JSON values and back, for recordings."""

from __future__ import annotations

import dataclasses
from typing import Any

from probes.command import Deletion, parse_command
from probes.plain_types import require_types
from probes.plans.plan import MAX_PATTERN, Plan, PlanColumn, PlannedEvent

_MAX_EVENTS = 1 << 17


def plan_to_dict(plan: Plan) -> dict[str, Any]:
    """Return the probe as text, and the events by field."""
    return {
        "probe": str(plan.probe),
        "losses": list(plan.losses),
        "events": [_event_to_dict(event) for event in plan.events],
    }


def _event_to_dict(event: PlannedEvent) -> dict[str, Any]:
    """Return the fields of an event; BPF programs are left out, as their records are those of any event."""
    plain = dataclasses.asdict(dataclasses.replace(event, programs=()))
    del plain["programs"]
    return plain


def _column(plain: dict[str, Any]) -> PlanColumn:
    return PlanColumn(**{**plain, "pointers": tuple(plain.get("pointers", ()))})


def plan_from_dict(plain: dict[str, Any]) -> Plan:
    """Build a plan from the values of `plan_to_dict`. Raises KeyError, TypeError, ValueError, ParseError."""
    events = []
    if len(plain["events"]) > _MAX_EVENTS:
        raise ValueError("more events than a probe has")
    for event in plain["events"]:
        for column in event["columns"]:
            require_types(PlanColumn, column)
        require_types(PlannedEvent, event)
        columns = tuple(map(_column, event["columns"]))
        if any(len(column.functions) > MAX_PATTERN for column in columns):
            raise ValueError("a pattern of functions that is too long")
        lists = {name: tuple(event.get(name, ())) for name in ("triggers", "more")}
        events.append(PlannedEvent(**{**event, **lists, "columns": columns, "programs": ()}))
    probe = parse_command(plain["probe"])
    if isinstance(probe, Deletion):
        raise TypeError("a deletion is no plan")
    return Plan(probe, tuple(events), tuple(map(str, plain["losses"])))
