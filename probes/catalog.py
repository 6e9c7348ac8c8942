"""All functions of a target: which can be probed, how, and why the others can't. Looked up one by one, when asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from btf.btf import Btf
from btf.errors import BtfError
from btf.render import prototype
from probes.facts import Feature, TargetFacts
from probes.functions import index_of
from probes.probe import Kind


@dataclass(frozen=True, slots=True)
class Function:
    """One function of a target."""

    name: str
    module: str = ""
    """Empty: the kernel itself."""
    prototype: str = ""
    """In C; empty where BTF doesn't know it."""
    kinds: frozenset[Kind] = frozenset()
    """What can attach: `Kind.FPROBE`, `Kind.KPROBE`, `Kind.KRETPROBE`."""
    reason: str = ""
    """Why something can't; empty: everything can."""
    copies: tuple[str, ...] = ()
    """What the compiler made of it: `name.isra.0`, `name.constprop.0`, ..."""

    @property
    def probeable(self) -> bool:
        """Whether anything can attach."""
        return bool(self.kinds)


class Catalog:
    """The functions of one target, by name."""

    def __init__(self, btf: Btf | None, facts: TargetFacts) -> None:
        self._btf = btf
        self._facts = facts
        self._index = index_of(facts)

    @cached_property
    def names(self) -> Sequence[str]:
        """All names, sorted: those that BTF knows and those that can be traced."""
        names = set(self._index.modules)
        btf = self._btf
        while btf is not None:
            names.update(btf.functions)
            btf = btf.base
        return sorted(names)

    def __len__(self) -> int:
        return len(self.names)

    def function(self, name: str) -> Function:
        """Look at one function; one that nobody knows has no kinds and says so."""
        module = self._index.modules.get(name, "")
        copies = self._copies.get(name, ())
        kinds, reason = self._kinds(name, copies)
        return Function(name, module, self._prototype(name), kinds, reason, copies)

    @cached_property
    def _copies(self) -> dict[str, tuple[str, ...]]:
        copies: dict[str, tuple[str, ...]] = {}
        for name in self._index.modules:
            base, dot, _ = name.partition(".")
            if dot:
                copies[base] = (*copies.get(base, ()), name)
        return copies

    def _prototype(self, name: str) -> str:
        if self._btf is None:
            return ""
        try:
            func = self._btf.function(name)
            return prototype(self._btf, func) if func is not None else ""
        except BtfError:
            return ""

    def _known(self, name: str) -> bool:
        return self._btf is not None and self._btf.function(name) is not None

    def _kinds(self, name: str, copies: tuple[str, ...]) -> tuple[frozenset[Kind], str]:
        facts = self._facts
        count = self._index.count(name)
        if not count:
            return frozenset(), self._untraceable(name, copies)
        kinds: set[Kind] = set()
        reasons: list[str] = []
        if facts.has(Feature.FPROBE_EVENTS):
            kinds.add(Kind.FPROBE)
        if not facts.has(Feature.KPROBE_EVENTS):
            reasons.append("no tracer for it in this kernel" if not kinds else "no kprobe events in this kernel")
        elif count > 1:
            reasons.append(f"{count} functions have this name: a kprobe can't tell them apart, an fprobe takes all")
        elif name in facts.blacklist:
            reasons.append("on the kprobe blacklist")
        else:
            kinds |= {Kind.KPROBE, Kind.KRETPROBE}
        if not self._known(name):
            base, dot, suffix = name.partition(".")
            made = f": a {suffix.partition('.')[0]} copy of {base}" if dot else ""
            reasons.append(f"no BTF for it, arguments only by number{made}")
        return frozenset(kinds), "; ".join(reasons)

    def _untraceable(self, name: str, copies: tuple[str, ...]) -> str:
        if not self._facts.has(Feature.FPROBE_EVENTS) and not self._facts.has(Feature.KPROBE_EVENTS):
            return "no tracer for functions in this kernel"
        if name in self._facts.blacklist:
            return "not traceable, and on the kprobe blacklist"
        if copies:
            return f"the compiler made {', '.join(copies)} of it: probe that instead"
        if self._known(name):
            return "not traceable: inlined everywhere, optimised away, or marked notrace"
        return "no such function on this target"
