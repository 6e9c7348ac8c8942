"""Completion of a synthetic event: `s:NAME TYPE FIELD; TYPE FIELD`."""

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


def complete_synthetic(before: str, known: NameSources) -> Completions:
    """Complete what stands before the cursor; it begins with `s:`."""
    end = len(before)
    name, blank, fields = before.lstrip().removeprefix("s:").partition(" ")
    if not blank:
        taken = "" if name else "NAME: of the event"
        ready = [Completion(f"{name} ", ItemKind.PLACE, name, about="then its fields: TYPE FIELD; …")] if name else []
        return Completions(end - len(name), end, tuple(ready), Priority.NEEDED, taken)
    field = fields.rpartition(";")[2].lstrip()
    words = field.split(" ")
    typed, whole = words[-1], [word for word in words[:-1] if word]
    if len(whole) < 1 or (whole == [_SHARED]):
        return _types(before, end - len(" ".join([*whole, typed])), field, known)
    if len(whole) > (2 if whole[0] == _SHARED else 1) or (typed and _accepted(before, known)):
        return _behind(before, end, known)
    return Completions(end, end, (), Priority.NEEDED, "a name for the field; NAME[16] for one of several characters")


def _types(before: str, start: int, typed: str, known: NameSources) -> Completions:
    found = [kind for kind in _TYPES if kind.startswith(typed)]
    items = tuple(
        Completion(f"{kind} ", ItemKind.TYPE, kind, about=_TYPES[kind])
        for kind in found
        if _accepted(f"{before[:start]}{kind} {_free(before)}", known)
    )
    return Completions(start, len(before), items, Priority.NEEDED, "" if items else "no type of a field begins so")


def _behind(before: str, end: int, known: NameSources) -> Completions:
    if not _accepted(before, known):
        return Completions(end, end, (), Priority.NEEDED)
    at = len(before.rstrip())
    return Completions(at, end, (Completion("; ", ItemKind.WORD, ";", about="another field"),), Priority.STANDS)


def _accepted(text: str, known: NameSources) -> bool:
    return check(text.rstrip("; "), known.btf(""), known.facts).ok


def _free(before: str) -> str:
    """A name that no field has."""
    taken = set(re.findall(r"\w+", before))
    return next(name for name in (f"f{number}" for number in range(len(taken) + 1)) if name not in taken)
