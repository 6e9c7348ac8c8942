"""Check a deletion, `-:group/event` or `!p:group/event`, by the kernel's rules (trace_dynevent.c, match of each
kind).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from probes.rules.parsed_event import USER_EVENT, ParsedEvent
from probes.syntax.refused import Refused, RefusedWord
from probes.syntax.text import kstrtoul
from probes.user_events.kernel_reading import GROUP, MULTI_GROUP

_SILENT = "refused_without_message"
SYNTHETIC = "synthetic"
"""Group of all synthetic events."""
_USER_GROUPS = (GROUP, MULTI_GROUP)
_MAX_PLACE = 63
"""Characters of a place that are compared (MAX_ARGSTR_LEN); some kernels cut an argument with its name as well."""
_HASHED = re.compile("0x0{8}[0-9a-f]{8}")
"""Address as dynamic_events prints it; the kernel finds no event by the address's real digits."""


def check_deletion(
    words: list[str], existing: Sequence[ParsedEvent], families: str = "", prefix: bool = False, cut: bool = False
) -> None:
    """Check that a deletion names an event; the kernel rejects it without a message. Raises RefusedWord.

    Args:
        words: words of the command.
        existing: events in the order of dynamic_events.
        families: letters of the kinds of events that are searched; empty: all.
        prefix: the first characters of the probed event's group are enough (6.1).
        cut: only the first 63 characters of an argument with its name are compared (trace_probe_match_command_args).
    """
    head = words[0]
    minus = head.startswith("-")
    name = head[2:] if minus else head.partition(":")[2]
    if ":" not in head or (minus and head[1:2] != ":"):
        raise RefusedWord(Refused(_SILENT, 0, head, hint="A deletion is -:GROUP/EVENT"))
    group, slash, event = name.partition("/")
    if not slash:
        group, event = "", name
        if not event:
            raise RefusedWord(Refused(_SILENT, 0, head, hint="Name the event: -:GROUP/EVENT"))
    wanted_group = group if slash else None
    candidates = [e for e in existing if not families or e.family in families]
    matching = [e for e in candidates if _matches(e, wanted_group, event, words[1:], prefix, cut)]
    targets = {
        e.place.replace(".", "/", 1) for e in existing if e.letter == "e"
    }  # events that event probes are on can't be deleted
    if not matching:
        names = tuple(f"{e.group}/{e.event}" if slash else e.event for e in candidates)
        hint = "There is no such event" if not words[1:] else "No such event has this place and these arguments"
        raise RefusedWord(Refused(_SILENT, 0, name, hint=hint, names=names))
    if any(f"{e.group}/{e.event}" in targets for e in matching):
        raise RefusedWord(Refused(_SILENT, 0, head, hint="An event probe sits on it: delete that one first"))


def _matches(event: ParsedEvent, group: str | None, name: str, words: list[str], prefix: bool, cut: bool) -> bool:
    """Return whether a deletion matches an event: by name and group, by its place, by its first arguments."""
    if event.letter == "s":
        return event.event == name and group in (None, SYNTHETIC)
    if event.letter == USER_EVENT:  # its fields follow, all of them (user_event_match)
        return event.event == name and group in (None, *_USER_GROUPS) and words == event.place.split()
    if (name and event.event != name) or (group is not None and event.group != group):
        return False
    if not words:
        return True
    place = words[0]
    if event.letter == "e":
        separator = "/" if "/" in place else "."
        system, has_system, target = place.partition(separator)
        attached, _, at = event.place.partition(".")
        if not has_system or at != target or (attached != system and not (prefix and attached.startswith(system))):
            return False
    elif event.letter == "u":
        if place != event.place:
            return False
    elif place != event.place[:_MAX_PLACE] or (kstrtoul(place) is not None and not _HASHED.fullmatch(place)):
        return False
    wanted, limit = words[1:], _MAX_PLACE if cut else None
    return [f"{a.name}={a.body}"[:limit] for a in event.arguments[: len(wanted)]] == wanted
