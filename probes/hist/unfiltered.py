"""Triggers that act also where the filter of their event does not hold.

The kernel asks a trigger for its own `if` alone, before it looks at the filter of the event (event_triggers_call() in
kernel/trace/trace_events_trigger.c).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from probes.hist.trigger import PlainTrigger, parse_trigger
from probes.plans.plan import Plan
from probes.syntax.parse_error import ParseError

_STACK = "stacktrace"
"""Written with the filter of its event (`kernel.session.stack_triggers`)."""


def ignored_text(condition: str) -> str:
    """Return why a trigger acts beyond the filter of its event, and what would change that; foreign text."""
    return f"also where the probe's filter does not hold: a trigger has its own, `if {condition}`"


def trigger_note(trigger: str, condition: str) -> str:
    """Return what is to be said of a trigger of an event with a filter; empty: nothing, or it is at its table."""
    try:
        read = parse_trigger(trigger)
    except ParseError:  # the kernel says what is wrong with it
        return ""
    if not condition or not isinstance(read, PlainTrigger) or read.filter or read.command == _STACK:
        return ""
    return f"{trigger.strip()} acts {ignored_text(condition)}"


def trigger_notes(plan: Plan, triggers: Iterable[str]) -> Iterator[str]:
    """Yield what is to be said of triggers that the events of a probe get, each note once."""
    notes = (trigger_note(text, event.filter) for text in triggers for event in plan.events)
    yield from filter(None, dict.fromkeys(notes))
