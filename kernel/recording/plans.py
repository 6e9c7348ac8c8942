"""The plans that a recording was made with; apart from its replay, for who reads no more than its first rows."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from events.recording.chunks import RecordingError
from kernel.errors import TargetUnusable
from probes.plans.json_values import plan_from_dict
from probes.syntax.parse_error import ParseError

if TYPE_CHECKING:
    from events.recording.reader import Recording
    from kernel.target import Target
    from probes.plans.graph_plan import GraphPlan
    from probes.plans.plan import Plan

_DAMAGES = (RecordingError, KeyError, TypeError, ValueError, AttributeError, ParseError)


def recorded_plans(recording: Recording) -> tuple[Plan, ...]:
    """Return the plans that were armed when a recording was made. Raises TargetUnusable."""
    try:
        return tuple(map(plan_from_dict, recording.plans))
    except _DAMAGES as error:
        raise TargetUnusable(f"{recording.name}: the probes of this recording are damaged") from error


def readable_plans(recording: Recording) -> tuple[Plan, ...]:
    """Return the plans of a recording that are not damaged: for questions about one probe, not for a replay."""
    found = []
    for plain in recording.plans:
        with suppress(*_DAMAGES):
            found.append(plan_from_dict(plain))
    return tuple(found)


def recorded_graph(target: Target) -> GraphPlan | None:
    """Return what the function_graph tracer followed; None: that is no recording of it, or it does not say."""
    from kernel.recording.target import RecordingTarget
    from probes.plans.graph_plan import GraphPlan

    return GraphPlan.of_meta(target.recording.meta) if isinstance(target, RecordingTarget) else None
