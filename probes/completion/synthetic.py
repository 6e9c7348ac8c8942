"""Complete a synthetic event: `s:NAME TYPE FIELD; TYPE FIELD`."""

from __future__ import annotations

import re

from probes.check import check
from probes.completion.choice import Completion, Completions, ItemKind, NameSources, Priority
from probes.rules.events.fields import SYNTHETIC_SIZES

_TYPES = {
    **{kind: f"{size} byte{'s' * (size > 1)}" for kind, size in SYNTHETIC_SIZES.items()},
    "char": "one character; a text is char NAME[16], or char NAME[] of any length",
}
_SHARED = "unsigned"


def complete_synthetic(before: str, sources: NameSources) -> Completions:
    """Complete the text before the cursor, which begins with `s:`."""
    end = len(before)
    name, blank, fields = before.lstrip().removeprefix("s:").partition(" ")
    if not blank:
        note = "" if name else "NAME: of the event"
        items = (
            [Completion(f"{name} ", ItemKind.PLACE, name, description="then its fields: TYPE FIELD; …")]
            if name
            else []
        )
        return Completions(end - len(name), end, tuple(items), Priority.NEEDED, note)
    field = fields.rpartition(";")[2].lstrip()
    words = field.split(" ")
    typed, complete = words[-1], [word for word in words[:-1] if word]
    if len(complete) < 1 or (complete == [_SHARED]):
        return _types(before, end - len(" ".join([*complete, typed])), field, sources)
    if len(complete) > (2 if complete[0] == _SHARED else 1) or (typed and _accepted(before, sources)):
        return _after_field(before, end, sources)
    return Completions(end, end, (), Priority.NEEDED, "a name for the field; NAME[16] for one of several characters")


def _types(before: str, start: int, typed: str, sources: NameSources) -> Completions:
    kinds = [kind for kind in _TYPES if kind.startswith(typed)]
    items = tuple(
        Completion(f"{kind} ", ItemKind.TYPE, kind, description=_TYPES[kind])
        for kind in kinds
        if _accepted(f"{before[:start]}{kind} {_unused_name(before)}", sources)
    )
    return Completions(start, len(before), items, Priority.NEEDED, "" if items else "no type of a field begins so")


def _after_field(before: str, end: int, sources: NameSources) -> Completions:
    if not _accepted(before, sources):
        return Completions(end, end, (), Priority.NEEDED)
    at = len(before.rstrip())
    return Completions(at, end, (Completion("; ", ItemKind.WORD, ";", description="another field"),), Priority.STANDS)


def _accepted(text: str, sources: NameSources) -> bool:
    return check(text.rstrip("; "), sources.btf(""), sources.facts).ok


def _unused_name(before: str) -> str:
    """Return a name that no field has."""
    used = set(re.findall(r"\w+", before))
    return next(name for name in (f"f{number}" for number in range(len(used) + 1)) if name not in used)
