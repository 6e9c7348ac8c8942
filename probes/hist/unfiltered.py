"""Warn of triggers that act even on events that do not satisfy the event's filter.

The kernel tests only a trigger's own `if`, before it tests the filter of the event (event_triggers_call() in
kernel/trace/trace_events_trigger.c).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from probes.hist.trigger import PlainTrigger, parse_trigger
from probes.plans.plan import Plan
from probes.syntax.parse_error import ParseError

_STACK = "stacktrace"
"""Trigger that is written with the filter of its event (`probes.hist.stack_triggers`)."""


def beyond_filter_text(condition: str) -> str:
    """Return why a trigger acts beyond the filter of its event, and what would change that. Foreign text."""
    return f"also where the probe's filter does not hold: a trigger has its own, `if {condition}`"


def trigger_note(trigger: str, condition: str) -> str:
    """Return a warning on a trigger of an event with a filter; empty: none, or the histogram's table shows it."""
    try:
        parsed = parse_trigger(trigger)
    except ParseError:  # the kernel reports the error in the trigger
        return ""
    if not condition or not isinstance(parsed, PlainTrigger) or parsed.filter or parsed.command == _STACK:
        return ""
    return f"{trigger.strip()} acts {beyond_filter_text(condition)}"


def trigger_notes(plan: Plan, triggers: Iterable[str]) -> Iterator[str]:
    """Yield the warnings on triggers that the events of a probe get, each once."""
    notes = (trigger_note(text, event.filter) for text in triggers for event in plan.events)
    yield from filter(None, dict.fromkeys(notes))
