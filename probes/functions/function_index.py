"""Index over a target's functions: what is traceable, how often a name occurs, in which module."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from probes.facts.facts import TargetFacts

STUB = "__probestub_"
"""What the name of the function that a tracepoint probe sits on begins with."""


@dataclass(frozen=True, slots=True)
class FunctionIndex:
    """Names of available_filter_functions."""

    modules: dict[str, str]
    """Name -> module of its last occurrence, `` for the kernel itself."""
    repeated: dict[str, int]
    """Name -> how often it occurs, for those that occur more than once."""

    loaded: frozenset[str] = frozenset()
    """Modules that have traceable functions."""

    tracepoints: tuple[str, ...] = ()
    """Tracepoints that can be probed: those whose stubs are traceable."""
    copies: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Name -> what the compiler made of it: `name.isra.0`, `name.constprop.0`, ..."""

    def count(self, name: str) -> int:
        """How often a name is traceable."""
        return self.repeated.get(name, 1 if name in self.modules else 0)


_kept: list[tuple[tuple[str, ...], FunctionIndex]] = []
"""The last few indexes with the list each was made of (which keeps its identity ours)."""
_KEEP = 4


_lists: list[tuple[str, ...]] = []
"""The last few lists: machines of one kernel have the same, of some 3 MB."""


def shared_list(functions: tuple[str, ...]) -> tuple[str, ...]:
    """Return a list of functions that is known already, where it is equal; else this one, known from now on."""
    known = next((one for one in tuple(_lists) if one == functions), None)
    if known is None:
        _lists[:] = [*_lists[-_KEEP + 1 :], functions]
    return functions if known is None else known


def index_of(facts: TargetFacts) -> FunctionIndex:
    """Give the index of a target's functions; made once for each list (40 ms for 60,000 names)."""
    for functions, index in tuple(_kept):
        if functions is facts.functions:
            return index
    index = _build(facts.functions)
    _kept[:] = [*_kept[-_KEEP + 1 :], (facts.functions, index)]
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
    """Give the tracepoints that may be meant by a name: those that begin like it, else all; none where it is one."""
    known = index_of(facts).tracepoints
    if name in known:
        return ()
    return tuple(one for one in known if one[:3] == name[:3]) or known
