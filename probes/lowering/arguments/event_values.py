"""List the values that a probe on an event or a tracepoint can record, each as a node to tick."""

from __future__ import annotations

from collections.abc import Sequence

from probes.facts.facts import TargetFacts
from probes.facts.lookups import StaticEventField
from probes.fetcharg import Comm, EventField, FetchArg
from probes.functions.capture_tree import CaptureNode
from probes.lowering.arguments.field_types import field_type

_COMM = "comm"


def event_values(group: str, fields: Sequence[StaticEventField], facts: TargetFacts) -> tuple[CaptureNode, ...]:
    """Return the fields of an event in their order, then the name of the task."""
    nodes = [_field(group, field, facts) for field in fields]
    if all(field.name != _COMM for field in fields):  # else $comm is the event's own field
        nodes.append(CaptureNode("$comm", FetchArg(Comm()), "char [16]", "string"))
    return tuple(nodes)


def _field(group: str, field: StaticEventField, facts: TargetFacts) -> CaptureNode:
    kind = field_type(group, field, 8 * facts.long_size)
    if kind is None:
        return CaptureNode(field.name, None, field.type, reason=f"an event probe can't read {field.type}")
    expression = Comm() if field.name == _COMM else EventField(field.name)
    return CaptureNode(field.name, FetchArg(expression), field.type, kind)
