"""Choose the probes for a word of a person: a kind of the table, a structure, or the functions themselves."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from btf.btf import Btf
from btf.kinds import Kind
from events.references.reference import Role
from foreign.count_text import counted
from probes.facts.facts import TargetFacts
from probes.references.found_kinds import counts_in, found_kind
from probes.references.functions import ReferenceProbes, object_type, reference_probes
from probes.references.kinds import KINDS, ReferenceKind

_KINDS = f"a kind ({', '.join(KINDS)}), a structure with functions as X_get and X_put, or GET,PUT[,FREE]"

_MAKES: Final = re.compile(r"alloc|create|(?:^|_)(?:new|init)(?:_|$)")
"""Part of the name of a function that makes an object with its first reference."""


class NoReferences(Exception):
    """A word that names nothing whose references can be tracked on a kernel.

    Attributes:
        remedy: what can be done; empty: nothing.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class ChosenProbes(NamedTuple):
    """Probes for a word."""

    kind: ReferenceKind
    probes: ReferenceProbes
    notes: tuple[str, ...]
    """Limits of what they see."""


def chosen_probes(word: str, btf: Btf | None, facts: TargetFacts) -> ChosenProbes:
    """Return the probes for a kind (`file`), a structure (`bpf_map`), or functions (`fget,fput,__fput`; several for
    one part with `+` between them).

    Raises NoReferences: there is no such kind, or this kernel shows no get or no put of it.
    """
    if btf is None:
        raise NoReferences("references are found by the types of the kernel, and it has no BTF")
    if "," in word:
        kind = _kind_of_functions(word, btf)
    else:
        named = KINDS.get(word) or next(
            (one for one in KINDS.values() if one.type_name in (word, f"struct {word}")), None
        )
        found = named or found_kind(word, btf, facts)
        if found is None:
            raise NoReferences(f"{word}: no such kind, and no function of this kernel puts a struct {word}", _KINDS)
        kind = found
    probes = reference_probes(kind, btf, facts)
    _check(word, kind, probes, is_named="," in word)
    return ChosenProbes(kind, probes, tuple(_notes(kind, probes)))


def _kind_of_functions(word: str, btf: Btf) -> ReferenceKind:
    """Return the kind of functions that are named. Raises NoReferences."""
    parts = [tuple(filter(None, part.split("+"))) for part in word.split(",")]
    if len(parts) not in (2, 3) or not all(parts):
        raise NoReferences(f"{word}: two or three parts are wanted: GET,PUT or GET,PUT,FREE", _KINDS)
    get, put, free = (*parts, ())[:3]
    text = object_type(put[0], btf)
    if not text:
        raise NoReferences(f"{put[0]}: BTF knows no structure that this function takes", "name it as GET,PUT")
    known = next((one for one in KINDS.values() if one.type_name == text), None)
    bare = text.partition(" ")[2]
    ids = [one for one in btf.find_all(bare) if btf.kind(one) == Kind.STRUCT]
    counts = known.counts if known is not None else counts_in(btf, ids[0]) if ids else ()
    short = known.name if known is not None else re.sub(r"[^a-z0-9]", "", bare.lower())
    new = tuple(one for one in get if _MAKES.search(one))
    gets = tuple(one for one in get if one not in new)
    return ReferenceKind(short, text, new, gets, put, free, counts, known.label if known is not None else "")


def _check(word: str, kind: ReferenceKind, probes: ReferenceProbes, *, is_named: bool) -> None:
    """Raise NoReferences if a kernel shows no get or no put of a kind, or lacks a function that was named."""
    if is_named and probes.missing:
        raise NoReferences(
            f"{probes.missing[0]}: can't be traced on this kernel, or takes and returns no {kind.type_name}",
            "probewright list has the functions; FUNCTION=EXPRESSION says where the object is, path_get=path->dentry",
        )
    if not probes.of(Role.PUT):
        raise NoReferences(f"{word}: no function that puts a {kind.type_name} can be traced here", kind.no_puts)
    if not probes.of(Role.GET) and not probes.of(Role.NEW):
        raise NoReferences(f"{word}: no function that gets a {kind.type_name} can be traced: they are inlined")


def _notes(kind: ReferenceKind, probes: ReferenceProbes) -> list[str]:
    parts = []
    for role, noun in ((Role.NEW, "made by"), (Role.GET, "got by"), (Role.PUT, "put by"), (Role.FREE, "freed by")):
        if names := probes.of(role):
            parts.append(f"{noun} {', '.join(names)}")
    notes = [f"{kind.name}: {'; '.join(parts)}"]
    if not probes.count_path:
        notes.append(f"{kind.name}: its count can't be read: gets and puts by other functions are not noticed")
    elif kind.unseen:
        notes.append(f"{kind.name}: {kind.unseen}; by the count such changes are noticed")
    if probes.missing:
        number = counted(len(probes.missing), "function")
        notes.append(f"{kind.name}: this kernel lacks {number} of other kernels: {', '.join(probes.missing)}")
    return notes
