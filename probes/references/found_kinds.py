"""Find how objects of a structure are counted: its `struct kref`, `refcount_t` or atomic number, and the functions
whose names differ in `get` and `put` alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from btf.btf import Btf
from btf.kinds import MAX_DEPTH, Kind
from btf.layout import fields
from btf.types import Const, Struct, Typedef, Volatile
from btf.walk import strip
from probes.facts.facts import TargetFacts
from probes.functions.chosen_functions import uses_of
from probes.functions.function_index import index_of
from probes.references.kinds import ReferenceKind

_GETS: Final = frozenset({"get", "hold", "grab", "inc"})
_PUTS: Final = frozenset({"put", "drop", "dec"})
_ALSO: Final = frozenset({"try", ""})
"""Parts of the name of a get beside which the pair is still one: `try_module_get` and `module_put`."""
_DEPTH: Final = 3
"""Structures inside each other in which a `kref` or `refcount_t` is looked for."""
_COUNTS: Final = frozenset({"refcnt", "refcount", "_refcount", "ref", "refs", "usage", "users", "usecnt", "count"})
"""Names of atomic numbers that count references."""


def found_kind(name: str, btf: Btf, facts: TargetFacts) -> ReferenceKind | None:
    """Return the kind of a structure (`bpf_map`, `struct bpf_map`); None: there is no such structure, or no function
    drops a reference of one by its name: `bpf_map_put`, `put_device`, `put_super` of a `super_block`.
    """
    bare = name.removeprefix("struct ")
    structs = [one for one in btf.find_all(bare) if btf.kind(one) == Kind.STRUCT]
    if not structs:
        return None
    text = f"struct {bare}"
    traceable = index_of(facts).modules
    takes = uses_of(btf, f"{text} *").takes
    names = [one for one, place in takes.items() if place == 0 and one in traceable and not btf.is_ambiguous(one)]
    # `__put_net` is called for the last reference alone, or is a part of `put_net`.
    puts = {stem: one for one in names if (stem := _stem(one, _PUTS, frozenset(), bare))}
    gets = tuple(one for one in names if _stem(one, _GETS, _ALSO, bare) in puts)
    if not puts:
        return None
    short = re.sub(r"[^a-z0-9]", "", bare.lower())
    return ReferenceKind(short, text, (), gets, tuple(puts.values()), (), counts_in(btf, structs[0]))


def counts_in(btf: Btf, struct_id: int) -> tuple[str, ...]:
    """Return the paths to reference counts in a structure, the surest first."""
    found = sorted(_counts(btf, struct_id, "", 0), key=lambda one: one[0])
    return tuple(path for _, path in found)


def _counts(btf: Btf, struct_id: int, before: str, depth: int) -> Iterator[tuple[int, str]]:
    """Yield the paths to counts, each with a rank: krefs, `refcount_t`, then atomic numbers with the name of one."""
    for field in fields(btf, struct_id):
        path, names = f"{before}{field.name}", _type_names(btf, field.type_id)
        if "kref" in names:
            yield 4 * depth, f"{path}.refcount.refs.counter"
        elif "refcount_struct" in names:
            yield 4 * depth + 1, f"{path}.refs.counter"
        elif names & {"atomic_t", "atomic64_t", "atomic_long_t"}:
            if not depth and field.name in _COUNTS:
                yield 2, f"{path}.counter"
        elif depth < _DEPTH and isinstance(btf.type(strip(btf, field.type_id)), Struct):
            yield from _counts(btf, strip(btf, field.type_id), f"{path}.", depth + 1)


def _type_names(btf: Btf, type_id: int) -> set[str]:
    """Return the name of a type, and those of the typedefs on the way to its structure."""
    names = set()
    kind = btf.type(type_id)
    for _ in range(MAX_DEPTH):
        if not isinstance(kind, Typedef | Const | Volatile):
            break
        names.add(getattr(kind, "name", ""))
        kind = btf.type(kind.type_id)
    return names | ({kind.name} if isinstance(kind, Struct) else set())


def _stem(function: str, words: frozenset[str], also: frozenset[str], struct: str) -> str:
    """Return the name of a function without one of some words, if it is the structure's or its beginning; empty:
    it is not.
    """
    parts = function.split("_")
    rest = "_".join(part for part in parts if part not in words and part not in also)
    is_own = sum(part in words for part in parts) == 1 and (struct == rest or struct.startswith(f"{rest}_"))
    return rest if is_own else ""
