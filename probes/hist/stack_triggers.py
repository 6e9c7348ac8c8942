"""Restrict triggers that record stacks: they act even for disabled events, and for hits that a filter discards.

For such a stack there is no event (trace_event_trigger_enable_disable() and __event_trigger_test_discard() of
kernel/trace: a trigger enables its event in soft mode, and acts on events that a filter discards). So they exist only
while their event is recorded, and with the event's filter as theirs.
"""

from __future__ import annotations

from dataclasses import replace

from probes.hist.trigger import PlainTrigger, parse_trigger
from probes.syntax.parse_error import ParseError

_COMMAND = "stacktrace"
REMOVAL = f"!{_COMMAND}"
"""Removes such a trigger whatever its full text: an event has one at most (unregister_trigger() compares no more)."""


def records_stacks(trigger: str) -> bool:
    """Return whether a trigger records stacks."""
    return trigger.strip().startswith(_COMMAND)


def within_filter(trigger: str, condition: str) -> str:
    """Return a trigger that records stacks, restricted to the filter of its event."""
    text = trigger.strip()
    try:
        parsed = parse_trigger(text)
    except ParseError:  # the kernel reports the error
        return text
    if not condition or not isinstance(parsed, PlainTrigger):
        return text
    combined = f"({condition}) && ({parsed.filter})" if parsed.filter else condition
    return str(replace(parsed, filter=combined, head=parsed.head if parsed.parameter else "", link=" if "))
