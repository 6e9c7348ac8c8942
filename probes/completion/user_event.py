"""Complete the definition of a user event: `u:NAME TYPE FIELD; TYPE FIELD if FILTER`."""

from __future__ import annotations

import re
from typing import Final

from probes.completion.choice import Completion, Completions, ItemKind, Priority
from probes.facts.facts import Feature, TargetFacts
from probes.user_events.kernel_reading import NUMBERS, PREFIX

_TYPES: Final = {
    **dict.fromkeys(NUMBERS, "a number"),
    "char[16]": "a text of up to 15 bytes; the number is yours",
    "__rel_loc char[]": "a text of any length",
    "__rel_loc u8[]": "bytes of any number",
    "__data_loc char[]": "a text of any length, as older programs write it",
    "struct": "NAME FIELD SIZE: a structure of so many bytes",
}
_NAME: Final = re.compile(r"\s*u:\s*(\S*)$")
_FILTER: Final = re.compile(r"\sif(?:\s|$)")


def user_event_heads(typed: str, facts: TargetFacts) -> list[Completion]:
    """Return the head of a definition, where the kernel has events of programs and the text begins so."""
    if not (facts.has(Feature.USER_EVENTS) and "u".startswith(typed)):
        return []
    about = "an event of programs: define it, and record what they write"
    return [Completion(PREFIX, ItemKind.LETTER, PREFIX, description=about)]


def complete_user_event(before: str) -> Completions:
    """Complete the text before the cursor, which begins with `u:`."""
    end = len(before)
    if (match := _NAME.match(before)) is not None:
        return Completions(end - len(match[1]), end, note="NAME: of the event, then its fields: TYPE FIELD; …")
    if _FILTER.search(before):
        return Completions(end, end, note="a condition on the fields: length > 1000")
    # The fields stand behind the name: what follows the last semicolon, or the name.
    named = before.lstrip().removeprefix(PREFIX).lstrip()
    field = (before.rpartition(";")[2] if ";" in before else named.partition(" ")[2]).lstrip()
    kinds = [kind for kind in _TYPES if kind.startswith(field) and kind != field]
    if kinds:
        items = tuple(Completion(f"{kind} ", ItemKind.TYPE, kind, description=_TYPES[kind]) for kind in kinds)
        return Completions(end - len(field), end, items, Priority.NEEDED)
    if any(field.startswith(f"{kind} ") and len(field) > len(kind) + 1 for kind in _TYPES):
        return Completions(end, end, note="`;` and another field, or `if` and a condition")
    return Completions(end, end, note="a name for the field" if " " in field else "no type of a field begins so")
