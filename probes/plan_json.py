"""Plans to plain JSON values and back, for recordings."""

from __future__ import annotations

import dataclasses
from typing import Any

from probes.parse import parse_probe
from probes.plan import Column, Plan, PlannedEvent


def plan_to_dict(plan: Plan) -> dict[str, Any]:
    """The probe as its text, the events field by field."""
    return {
        "probe": str(plan.probe),
        "losses": list(plan.losses),
        "events": [dataclasses.asdict(event) for event in plan.events],
    }


def plan_from_dict(plain: dict[str, Any]) -> Plan:
    """Read what `plan_to_dict` wrote. Raises KeyError, TypeError, `probes.parse.ParseError`."""
    events = []
    for event in plain["events"]:
        columns = tuple(Column(**column) for column in event["columns"])
        events.append(PlannedEvent(**{**event, "columns": columns, "triggers": tuple(event["triggers"])}))
    return Plan(parse_probe(plain["probe"]), tuple(events), tuple(plain["losses"]))
