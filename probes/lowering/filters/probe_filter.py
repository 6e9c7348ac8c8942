"""Distribute the filter of a probe to its events: each event that records all fields the filter names gets it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from probes.lowering.filters.field_names import first_unknown, names_in
from probes.lowering.filters.unrecorded import Explanation
from probes.plans.plan import PlannedEvent
from probes.refusal import CannotLower, own_refusal
from probes.rules.messages.hints import hint_for

_CONSTANT = frozenset({"common_pid"})
"""Common fields that have the same value at both ends of a call."""


def distribute_filter(
    text: str,
    condition: str,
    events: Sequence[PlannedEvent],
    losses: list[str],
    explain: Explanation = lambda _: "",
) -> tuple[PlannedEvent, ...]:
    """Add the filter to each event that records all fields it names.

    Args:
        text: the probe's text, which ends with the filter.
        condition: the filter; empty: none.
        events: the planned events.
        losses: receives notes on events that stay unfiltered.
        explain: returns the hint on a name that no event records; empty: the general one.

    Raises CannotLower: no event records all fields the filter names.
    """
    if not condition:
        return tuple(events)
    recorded = list(dict.fromkeys(column.name for event in events for column in event.columns))
    unrecorded = first_unknown(condition, recorded)
    if unrecorded is not None:
        hint, nearest = hint_for("unknown_filter_field", unrecorded.text, recorded, explain(unrecorded.text))
        column = len(text) - len(condition) + unrecorded.column
        raise CannotLower(own_refusal("unknown_filter_field", unrecorded.text, column, hint, nearest))
    planned, unfiltered = [], []
    for event in events:
        fields = [column.name for column in event.columns]
        if first_unknown(condition, fields) is None:
            planned.append(replace(event, filter=condition))
        else:
            planned.append(event)
            unfiltered.append(event.event)
    if unfiltered and len(unfiltered) == len(events):
        names = ", ".join(dict.fromkeys(name.text for name in names_in(condition)))
        raise CannotLower(own_refusal("filter_spans_events", names, len(text) - len(condition)))
    losses += [f"{name}: not filtered, it does not record all that the filter names" for name in unfiltered]
    return _keep_calls_whole(condition, planned, losses)


def _keep_calls_whole(condition: str, events: list[PlannedEvent], losses: list[str]) -> tuple[PlannedEvent, ...]:
    """Leave the exits unfiltered where the filter may hold at one end of a call and not at the other.

    Otherwise the entry of a call and the exit of the next could remain, and look like a single call.
    """
    if any(not event.filter or not event.frame for event in events):
        return tuple(events)
    columns = [column for event in events for column in event.columns]
    constant = {column.name for column in columns if column.kept or column.functions} | _CONSTANT
    changing = dict.fromkeys(name.text for name in names_in(condition) if name.text not in constant)
    if not changing:
        return tuple(events)
    exits = [event.event for event in events if event.at_exit]
    losses += [f"{name}: not filtered, a call may change {', '.join(changing)}; its entry is" for name in exits]
    return tuple(replace(event, filter="") if event.at_exit else event for event in events)
