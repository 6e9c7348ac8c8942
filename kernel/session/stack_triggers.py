"""Triggers that record stacks: they act also of events that are off, or that their filter leaves out.

Of such a stack there is no event (trace_event_trigger_enable_disable() and __event_trigger_test_discard() of
kernel/trace: a trigger switches its event on softly, and of what a filter discards the triggers act all the same). So
they are there only while their event is recorded, and with the event's filter as theirs.
"""

from __future__ import annotations

from dataclasses import replace

from probes.hist.trigger import PlainTrigger, parse_trigger
from probes.syntax.parse_error import ParseError

_COMMAND = "stacktrace"
REMOVAL = f"!{_COMMAND}"
"""Takes it away whatever it is in full: an event has one at most (unregister_trigger() compares no more)."""


def records_stacks(trigger: str) -> bool:
    """Whether a trigger records stacks."""
    return trigger.strip().startswith(_COMMAND)


def within_filter(trigger: str, condition: str) -> str:
    """Return a trigger that records stacks as it acts only where the filter of its event holds, too."""
    text = trigger.strip()
    try:
        read = parse_trigger(text)
    except ParseError:  # the kernel says what is wrong with it
        return text
    if not condition or not isinstance(read, PlainTrigger):
        return text
    both = f"({condition}) && ({read.filter})" if read.filter else condition
    return str(replace(read, filter=both, head=read.head if read.parameter else "", link=" if "))
