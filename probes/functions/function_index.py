"""Index a target's functions: whether a name is traceable, how often it occurs, and in which module."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from probes.facts.facts import TargetFacts

STUB = "__probestub_"
"""Prefix of the function that a tracepoint probe is on."""


@dataclass(frozen=True, slots=True)
class FunctionIndex:
    """Index over the names in available_filter_functions."""

    modules: dict[str, str]
    """Name -> module of its last occurrence, `` for the kernel itself."""
    repeated: dict[str, int]
    """Name -> number of occurrences, for names that occur more than once."""

    loaded: frozenset[str] = frozenset()
    """Modules that have traceable functions."""

    tracepoints: tuple[str, ...] = ()
    """Tracepoints that can be probed: their stubs are traceable."""
    copies: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Name -> the compiler's clones of it: `name.isra.0`, `name.constprop.0`, ..."""

    def count(self, name: str) -> int:
        """Return the number of traceable functions of this name."""
        return self.repeated.get(name, 1 if name in self.modules else 0)


_indexes: list[tuple[tuple[str, ...], FunctionIndex]] = []
"""The last few indexes, each with its list of functions, which keeps that list's identity valid as a key."""
_MAX_STORED = 4


def index_of(facts: TargetFacts) -> FunctionIndex:
    """Return the index of a target's functions; built once for each list (40 ms for 60,000 names)."""
    for functions, index in tuple(_indexes):
        if functions is facts.functions:
            return index
    index = _build(facts.functions)
    _indexes[:] = [*_indexes[-_MAX_STORED + 1 :], (facts.functions, index)]
    return index


def _build(functions: tuple[str, ...]) -> FunctionIndex:
    first = next((at for at, line in enumerate(functions) if " " in line), len(functions))
    own = functions[:first]
    modules = dict.fromkeys(own, "")
    repeated = {name: count for name, count in Counter(own).items() if count > 1} if len(modules) < first else {}
    for line in functions[first:]:
        name, _, module = line.partition(" ")
        if name in modules:
            repeated[name] = repeated.get(name, 1) + 1
        modules[name] = module.strip("[]")
    copies: dict[str, tuple[str, ...]] = {}
    for name in modules:
        if "." in name:
            base = name.partition(".")[0]
            copies[base] = (*copies.get(base, ()), name)
    tracepoints = tuple(name.removeprefix(STUB) for name in modules if name.startswith(STUB))
    return FunctionIndex(modules, repeated, frozenset(modules.values()) - {""}, tracepoints, copies)


def tracepoints_like(name: str, facts: TargetFacts) -> tuple[str, ...]:
    """Return tracepoints that a wrong name may mean: those with its first letters, else all; none for a right
    name.
    """
    tracepoints = index_of(facts).tracepoints
    if name in tracepoints:
        return ()
    return tuple(tracepoint for tracepoint in tracepoints if tracepoint[:3] == name[:3]) or tracepoints
