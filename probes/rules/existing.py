"""What the kernel says of an event whose name is taken: another probe on it, or an error (append_trace_kprobe)."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from probes.facts.lookups import Environment
from probes.rules.parsed_event import ParsedEvent
from probes.syntax.refused import Refused, RefusedWord
from probes.syntax.text import kstrtoul


def check_existing(built: ParsedEvent, existing: Sequence[ParsedEvent], environment: Environment) -> None:
    """Compare a new event with those that are there. Raises At."""
    if built.letter == "u":
        _check_reference(built, existing, environment)
    named = [event for event in existing if (event.group, event.event) == (built.group, built.event)]
    same = [event for event in named if event.family == built.family]
    if same and built.letter != "e":
        _append(built, same, environment)
    elif named or (environment.event is not None and environment.event(built.group, built.event) is not None):
        raise RefusedWord(Refused("EVENT_EXIST", 0, f"{built.group}/{built.event}"))


def _append(built: ParsedEvent, same: Sequence[ParsedEvent], environment: Environment) -> None:
    """Another probe on an event."""
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
    """One place of a file has one reference counter; the kernel says nothing (validate_ref_ctr_offset)."""
    place = _place(built, environment)
    for event in existing:
        if event.letter == "u" and event.reference != built.reference and _place(event, environment) == place:
            raise RefusedWord(Refused("refused_without_message", 0, built.place))


def _place(event: ParsedEvent, environment: Environment) -> str:
    """Where an event sits; a file is known by what its path leads to, its reference counter is left out.

    All addresses are alike: the kernel compares names of symbols, and they have none.
    """
    if event.letter != "u":
        return event.place if event.letter != "k" or kstrtoul(event.place) is None else ""
    path, _, offset = event.place.partition("(")[0].rpartition(":")
    return f"{(environment.real_path or posixpath.normpath)(path)}:{offset}"
