"""Read the plans of a recording; apart from its replay, for code that reads its first rows only."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from events.recording.chunks import RecordingError
from foreign.count_text import counted
from kernel.errors import TargetUnusable
from probes.plans.json_values import plan_from_dict
from probes.syntax.parse_error import ParseError

if TYPE_CHECKING:
    from events.recording.reader import Recording
    from kernel.target import Target
    from probes.plans.graph_plan import GraphPlan
    from probes.plans.plan import Plan

_DAMAGES = (RecordingError, KeyError, TypeError, ValueError, AttributeError, RecursionError, ParseError)
_MOST_PLANS = 10_000
"""Maximum probes of a recording; one of many functions is one."""


def recorded_plans(recording: Recording) -> tuple[Plan, ...]:
    """Return the plans that were armed when a recording was made. Raises TargetUnusable."""
    plain = _plain_plans(recording)
    try:
        return tuple(map(plan_from_dict, plain))
    except _DAMAGES as error:
        raise TargetUnusable(f"{recording.name}: the probes of this recording are damaged") from error


def readable_plans(recording: Recording) -> tuple[Plan, ...]:
    """Return the undamaged plans of a recording: for questions about one probe, not for a replay.

    Raises:
        TargetUnusable: there are too many plans.
    """
    plans = []
    for plain in _plain_plans(recording):
        with suppress(*_DAMAGES):
            plans.append(plan_from_dict(plain))
    return tuple(plans)


def _plain_plans(recording: Recording) -> list[Any]:
    """Return the plans of a recording as they were read. Raises TargetUnusable: there are too many."""
    plans = recording.plans
    if len(plans) > _MOST_PLANS:
        raise TargetUnusable(f"{recording.name}: {counted(len(plans), 'probe')} (at most {_MOST_PLANS:,})")
    return plans


def recorded_graph(target: Target) -> GraphPlan | None:
    """Return the plan of the function_graph tracer of a recording; None: the target is none, or has no such plan."""
    from probes.plans.graph_plan import GraphPlan

    return GraphPlan.of_meta(target.recording.meta) if target.recording is not None else None
