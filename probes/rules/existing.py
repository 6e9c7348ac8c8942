"""Check a new event whose name exists: another probe on that event, or an error (append_trace_kprobe)."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from probes.facts.lookups import Environment
from probes.rules.parsed_event import ParsedEvent
from probes.syntax.refused import Refused, RefusedWord
from probes.syntax.text import kstrtoul


def check_existing(built: ParsedEvent, existing: Sequence[ParsedEvent], environment: Environment) -> None:
    """Check a new event against the existing ones. Raises RefusedWord."""
    if built.letter == "u":
        _check_reference(built, existing, environment)
    same_name = [event for event in existing if (event.group, event.event) == (built.group, built.event)]
    same_family = [event for event in same_name if event.family == built.family]
    if same_family and built.letter != "e":
        _append(built, same_family, environment)
    elif same_name or (environment.event is not None and environment.event(built.group, built.event) is not None):
        raise RefusedWord(Refused("EVENT_EXIST", 0, f"{built.group}/{built.event}"))


def _append(built: ParsedEvent, same: Sequence[ParsedEvent], environment: Environment) -> None:
    """Check another probe on an existing event. Raises RefusedWord."""
    first = same[0]
    if (first.letter, first.returns) != (built.letter, built.returns):
        raise RefusedWord(Refused("DIFF_PROBE_TYPE", 0, built.event))
    ours, theirs = built.arguments, first.arguments
    different = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if not a.is_like(b)), None)
    if len(ours) != len(theirs):
        different = min(len(ours), len(theirs))
    if different is not None:
        token = ours[different].name if different < len(ours) else ""
        raise RefusedWord(Refused("DIFF_ARG_TYPE", 0, token), different + 2)
    bodies, place = [a.body for a in ours], _place(built, environment)
    for event in same:
        if _place(event, environment) == place and [a.body for a in event.arguments] == bodies:
            raise RefusedWord(Refused("SAME_PROBE", 0, built.event))


def _check_reference(built: ParsedEvent, existing: Sequence[ParsedEvent], environment: Environment) -> None:
    """Check that a place in a file has a single reference counter (validate_ref_ctr_offset). Raises RefusedWord."""
    place = _place(built, environment)
    for event in existing:
        if event.letter == "u" and event.reference != built.reference and _place(event, environment) == place:
            raise RefusedWord(Refused("refused_without_message", 0, built.place))


def _place(event: ParsedEvent, environment: Environment) -> str:
    """Return the place of an event: for a file its resolved path, without the reference counter.

    All addresses are equal: the kernel compares names of symbols, which addresses lack.
    """
    if event.letter != "u":
        return event.place if event.letter != "k" or kstrtoul(event.place) is None else ""
    path, _, offset = event.place.partition("(")[0].rpartition(":")
    return f"{(environment.real_path or posixpath.normpath)(path)}:{offset}"
