"""All functions of a target: which can be probed, how, and why the others can't. Looked up one by one, when asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from btf.btf import Btf
from btf.errors import BtfError
from btf.render import prototype
from btf.search import Search
from probes.attaching.attach import AttachabilitySurvey, attachability
from probes.attaching.spellings import is_like, spellings
from probes.attaching.values import UNSEEN, Attachability
from probes.facts.facts import TargetFacts
from probes.functions.function_index import index_of
from probes.probe import ProbeKind

_LOOKED_AT, _NEAR = 9, 3


@dataclass(frozen=True, slots=True)
class Function:
    """One function of a target."""

    name: str
    module: str = ""
    """Empty: the kernel itself."""
    prototype: str = ""
    """In C; empty where BTF doesn't know it."""
    kinds: frozenset[ProbeKind] = frozenset()
    """What can attach: `ProbeKind.FPROBE`, `ProbeKind.KPROBE`, `ProbeKind.KRETPROBE`."""
    reason: str = ""
    """Why something can't; empty: everything can."""
    word: str = ""
    """The first reason in a word."""
    copies: tuple[str, ...] = ()
    """What the compiler made of it: `name.isra.0`, `name.constprop.0`, ..."""


class Catalog:
    """The functions of one target, by name."""

    def __init__(self, btf: Btf | None, facts: TargetFacts) -> None:
        self._btf = btf
        self._facts = facts
        self._index = index_of(facts)
        self.ground = UNSEEN
        """What else can be asked; whoever has looked at the machine more closely puts it here."""

    @cached_property
    def names(self) -> Sequence[str]:
        """All names, sorted: those that BTF knows and those that can be traced."""
        names = set(self._index.modules)
        btf = self._btf
        while btf is not None:
            names.update(btf.functions)
            btf = btf.base
        return sorted(names)

    @cached_property
    def _search(self) -> Search:
        return Search(self.names)

    def near(self, name: str) -> list[str]:
        """Up to three names like one that nobody knows, which something can attach to."""
        found = [self.names[index] for index in self._search.find(name, _LOOKED_AT).indices]
        found = [one for one in found if is_like(name, one)]
        known = index_of(self._facts)
        first = [one for one in spellings(name) if one != name and known.count(one)]
        return [one for one in dict.fromkeys((*first, *found)) if self.attachability(one).kinds][:_NEAR]

    def __len__(self) -> int:
        return len(self.names)

    def function(self, name: str) -> Function:
        """Look at one function; one that nobody knows has no kinds and says so."""
        about = self.attachability(name)
        return Function(name, about.module, self._prototype(name), about.kinds, about.text, about.word, about.copies)

    def attachability(self, name: str) -> Attachability:
        """The same with each reason and what can be probed instead; exact when the ground has been looked at."""
        return attachability(name, self._facts, self._btf, self.ground)

    def survey(self, names: Iterable[str]) -> AttachabilitySurvey:
        """Look at many functions; each answer equals that of `attachability`."""
        return AttachabilitySurvey(names, self._facts, self._btf, self.ground)

    def _prototype(self, name: str) -> str:
        if self._btf is None:
            return ""
        try:
            func = self._btf.function(name)
            return prototype(self._btf, func) if func is not None else ""
        except BtfError:
            return ""
