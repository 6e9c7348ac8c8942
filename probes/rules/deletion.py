"""What the kernel says of a deletion, `-:group/event` or `!p:group/event` (trace_dynevent.c and the kinds' match)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from probes.rules.parsed_event import ParsedEvent
from probes.syntax.refused import Refused, RefusedWord
from probes.syntax.text import kstrtoul

_SILENT = "refused_without_message"
SYNTHETIC = "synthetic"
"""Group of all synthetic events."""
_LONGEST_PLACE = 63
"""A longer one is cut before it is compared (MAX_ARGSTR_LEN), as an argument with its name is in some kernels."""
_HASHED = re.compile("0x0{8}[0-9a-f]{8}")
"""An address as dynamic_events shows it; by its own digits nobody finds it."""


def check_deletion(
    words: list[str], existing: Sequence[ParsedEvent], families: str = "", prefix: bool = False, cut: bool = False
) -> None:
    """Look for what a deletion names; the kernel refuses without a word. Raises At.

    Args:
        words: of the command.
        existing: events in the order of dynamic_events.
        families: kinds that are looked at, by their letters; empty: all.
        prefix: of the group that an event probe sits on, the first characters do (6.1).
        cut: of an argument with its name, the first 63 characters are compared (trace_probe_match_command_args).
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
    wanted = group if slash else None
    asked = [e for e in existing if not families or e.family in families]
    found = [e for e in asked if _matches(e, wanted, event, words[1:], prefix, cut)]
    targets = {e.place.replace(".", "/", 1) for e in existing if e.letter == "e"}  # what they sit on comes first
    if not found:
        names = tuple(f"{e.group}/{e.event}" if slash else e.event for e in asked)
        hint = "There is no such event" if not words[1:] else "No such event has this place and these arguments"
        raise RefusedWord(Refused(_SILENT, 0, name, hint=hint, names=names))
    if any(f"{e.group}/{e.event}" in targets for e in found):
        raise RefusedWord(Refused(_SILENT, 0, head, hint="An event probe sits on it: delete that one first"))


def _matches(event: ParsedEvent, group: str | None, name: str, words: list[str], prefix: bool, cut: bool) -> bool:
    """Whether an event is meant: by name and group, by its place, by its first arguments."""
    if event.letter == "s":
        return event.event == name and group in (None, SYNTHETIC)
    if (name and event.event != name) or (group is not None and event.group != group):
        return False
    if not words:
        return True
    place = words[0]
    if event.letter == "e":
        separator = "/" if "/" in place else "."
        system, found, target = place.partition(separator)
        attached, _, at = event.place.partition(".")
        if not found or at != target or (attached != system and not (prefix and attached.startswith(system))):
            return False
    elif event.letter == "u":
        if place != event.place:
            return False
    elif place != event.place[:_LONGEST_PLACE] or (kstrtoul(place) is not None and not _HASHED.fullmatch(place)):
        return False
    wanted, most = words[1:], _LONGEST_PLACE if cut else None
    return [f"{a.name}={a.body}"[:most] for a in event.arguments[: len(wanted)]] == wanted
