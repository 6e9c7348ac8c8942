"""The filter of a probe -> the filters of its events: each gets it that records all it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from probes.lowering.filters.field_names import names_in, unknown
from probes.plans.plan import PlannedEvent
from probes.refusal import CannotLower, own
from probes.rules.messages.hints import hint_for

_STEADY = frozenset({"common_pid"})
"""Common fields that are the same at both ends of a call."""


def filtered(
    text: str, condition: str, events: Sequence[PlannedEvent], losses: list[str]
) -> tuple[PlannedEvent, ...]:
    """Give the filter to each event that records all it names.

    Args:
        text: of the probe; it ends with the filter.
        condition: the filter; empty: none.
        events: what is planned.
        losses: takes what could not be filtered.

    Raises CannotLower: no event records all that is named.
    """
    if not condition:
        return tuple(events)
    recorded = list(dict.fromkeys(column.name for event in events for column in event.columns))
    stranger = unknown(condition, recorded)
    if stranger is not None:
        hint, nearest = hint_for("unknown_filter_field", stranger.text, recorded)
        column = len(text) - len(condition) + stranger.column
        raise CannotLower(own("unknown_filter_field", stranger.text, column, hint, nearest))
    out, without = [], []
    for event in events:
        mine = [column.name for column in event.columns]
        if unknown(condition, mine) is None:
            out.append(replace(event, filter=condition))
        else:
            out.append(event)
            without.append(event.event)
    if without and len(without) == len(events):
        names = ", ".join(dict.fromkeys(name.text for name in names_in(condition)))
        raise CannotLower(own("filter_spans_events", names, len(text) - len(condition)))
    losses += [f"{name}: not filtered, it does not record all that the filter names" for name in without]
    return _of_whole_calls(condition, out, losses)


def _of_whole_calls(condition: str, events: list[PlannedEvent], losses: list[str]) -> tuple[PlannedEvent, ...]:
    """Leave the exits unfiltered where the filter may hold at one end of a call and not at the other.

    Else the entry of one call and the exit of the next could be what is left, and look like one call.
    """
    if any(not event.filter or not event.frame for event in events):
        return tuple(events)
    steady = {column.name for event in events for column in event.columns if column.kept} | _STEADY
    moving = dict.fromkeys(name.text for name in names_in(condition) if name.text not in steady)
    if not moving:
        return tuple(events)
    exits = [event.event for event in events if event.at_exit]
    losses += [f"{name}: not filtered, a call may change {', '.join(moving)}; its entry is" for name in exits]
    return tuple(replace(event, filter="") if event.at_exit else event for event in events)
