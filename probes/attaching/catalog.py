"""Look up the functions of a target: the probes each takes, and reasons for those it doesn't. Computed on request."""

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
    """Function of a target."""

    name: str
    module: str = ""
    """Name of the module; empty: the kernel itself."""
    prototype: str = ""
    """Prototype in C; empty where BTF doesn't have the function."""
    kinds: frozenset[ProbeKind] = frozenset()
    """Probes that can attach: `ProbeKind.FPROBE`, `ProbeKind.KPROBE`, `ProbeKind.KRETPROBE`."""
    reason: str = ""
    """Reason why some probes can't attach; empty: all can."""
    word: str = ""
    """The first reason in a word."""
    copies: tuple[str, ...] = ()
    """The compiler's clones of the function: `name.isra.0`, `name.constprop.0`, ..."""


class Catalog:
    """Functions of a target, by name."""

    def __init__(self, btf: Btf | None, facts: TargetFacts) -> None:
        self._btf = btf
        self._facts = facts
        self._index = index_of(facts)
        self.sources = UNSEEN
        """Further sources on the target, set once they have been read."""

    @cached_property
    def names(self) -> Sequence[str]:
        """All names, sorted: functions in BTF and traceable functions."""
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
        """Return up to three names similar to an unknown one, of functions that can be probed."""
        similar = [self.names[index] for index in self._search.find(name, _LOOKED_AT).indices]
        similar = [candidate for candidate in similar if is_like(name, candidate)]
        function_index = index_of(self._facts)
        spelled = [
            candidate for candidate in spellings(name) if candidate != name and function_index.count(candidate)
        ]
        return [
            candidate for candidate in dict.fromkeys((*spelled, *similar)) if self.attachability(candidate).kinds
        ][:_NEAR]

    def __len__(self) -> int:
        return len(self.names)

    def function(self, name: str) -> Function:
        """Look up a function; an unknown one has no kinds and a reason."""
        answer = self.attachability(name)
        return Function(
            name, answer.module, self._prototype(name), answer.kinds, answer.text, answer.word, answer.copies
        )

    def attachability(self, name: str) -> Attachability:
        """Return the function's attachability with all reasons and alternatives; exact once `sources` is set."""
        return attachability(name, self._facts, self._btf, self.sources)

    def survey(self, names: Iterable[str]) -> AttachabilitySurvey:
        """Return the answers for many functions, equal to those of `attachability`."""
        return AttachabilitySurvey(names, self._facts, self._btf, self.sources)

    def _prototype(self, name: str) -> str:
        if self._btf is None:
            return ""
        try:
            func = self._btf.function(name)
            return prototype(self._btf, func) if func is not None else ""
        except BtfError:
            return ""
