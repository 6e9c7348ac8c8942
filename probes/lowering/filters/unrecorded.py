"""Explain a name in a filter that is no recorded field: the value it may mean, and the fetcharg that records that."""

from __future__ import annotations

import re
from collections.abc import Callable

from events.names.event_names import CGROUP
from probes.functions.signature import Signature
from probes.remedies import FILTER_SHOWN
from probes.rules.messages.guesses import guess_name

FUNCTION = "func"
"""Name of the field with the probed function, where no fetcharg has it."""
_SHOWN_ONLY = ("latency", "event", *CGROUP)
"""Fields of filters of the events shown that no event records."""
_IN_EACH_EVENT = {"pid": "common_pid", "tid": "common_pid", "tgid": "common_pid"}
_PATH = re.compile(r"(?<!\w)[A-Za-z_]\w*+(?:(?:->|\.)\w++)++")

Explanation = Callable[[str], str]
"""Function that returns the hint on a name; empty: nothing is known of it."""


def explain_unrecorded(
    name: str, condition: str, subject: str, signature: Signature | None, *, function: bool = True
) -> str:
    """Return the hint on a name in the filter of a probe on one function or tracepoint; empty: none.

    Args:
        name: the name that the filter has.
        condition: the filter.
        subject: function or tracepoint.
        signature: its arguments; None: unknown.
        function: it is a function, which may return a value.
    """
    if known := known_hint(name, condition, subject):
        return known
    if signature is None:
        return ""
    names = [param.name for param in signature.params if param.name]
    place = "function" if function else "tracepoint"
    if name in names:
        return f"{name} is an argument of {subject}: write {name} behind the {place} to record it"
    meant = next(iter(guess_name(name, signature)), "")
    if meant == "$retval" and function:
        return f"{name} may be what {subject} returns: write $retval behind the {place} to record it, at the exit"
    if meant and meant != "$retval":
        return f"{name} may be {meant}: write that behind the {place} to record it"
    return f"{subject} has no argument {name}: {', '.join(names)}" if names else f"{subject} has no arguments"


def known_hint(name: str, condition: str, subject: str) -> str:
    """Return the hint on a name that means the same on every function; empty: it means nothing there."""
    path = next((path for path in _PATH.findall(condition) if re.split(r"->|\.", path)[-1] == name), "")
    if path:
        return f"A filter names fields, not paths: {path} behind the function is recorded as {name}"
    if name.startswith("$"):
        field = "ret" if name == "$retval" else name.removeprefix("$")
        return f"A filter names fields: {name} behind the function is recorded as {field}"
    if name in _IN_EACH_EVENT:
        return f"The task of an event is {_IN_EACH_EVENT[name]}"
    if name in _SHOWN_ONLY:
        return f"No event records {name}; {FILTER_SHOWN}"
    if name == FUNCTION:
        return f"func is a field of patterns, such as vfs_*: this probe is on {subject} alone"
    return ""
