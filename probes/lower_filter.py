"""The filter of a probe -> the filters of its events: each gets it that records all it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from probes.filters import names_in, unknown
from probes.hints import hint_for
from probes.plan import PlannedEvent
from probes.refusal import CannotLower, own


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
    return tuple(out)
