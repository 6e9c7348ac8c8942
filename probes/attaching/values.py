"""Represent the answer on whether a function can be probed, with reasons and alternatives (`attach` returns it)."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from probes.attaching.kernel_text import TextSection
from probes.probe import ProbeKind, ProbePlace, SymbolBase

ALL = frozenset({ProbeKind.FPROBE, ProbeKind.KPROBE, ProbeKind.KRETPROBE})
"""Probes that attach to an ordinary function."""


class ReasonKind(enum.StrEnum):
    """Kind of a reason; its value is a word for a narrow column."""

    PRIVILEGES = "not root"
    LOCKDOWN = "lockdown"
    TRACER = "no tracer"
    MACHINE = "not here"
    """Another obstacle to every probe (`TargetFacts.troubles`)."""
    NO_KPROBES = "no kprobes"
    BLACKLIST = "blacklist"
    NOINSTR = "noinstr"
    ENTRY = "entry code"
    NOTRACE = "notrace"
    INIT = "boot only"
    UNTRACED = "not traced"
    """Untraceable, for a reason that can't be determined without symbols."""
    INLINED = "inlined"
    PARTLY_INLINED = "inlined too"
    RENAMED = "renamed"
    """Only the compiler's clones exist."""
    COPIES = "has copies"
    COPY = "a copy"
    ALIAS = "an alias"
    """The tracer lists the code under another name."""
    COLD = "cold part"
    PADDING = "padding"
    WEAK = "overridden"
    TWINS = "twins"
    MODULE = "no module"
    """The function is in a module that isn't loaded."""
    NO_BTF = "no BTF"
    DATA = "no code"
    UNKNOWN = "unknown"


_CALLED = frozenset(
    {
        ReasonKind.NOTRACE,
        ReasonKind.NOINSTR,
        ReasonKind.ENTRY,
        ReasonKind.BLACKLIST,
        ReasonKind.UNTRACED,
        ReasonKind.RENAMED,
        ReasonKind.TWINS,
    }
)


class Relation(enum.StrEnum):
    """Relation of an alternative to the function."""

    COPY = "copy"
    """Clone of the function, made by the compiler."""
    ORIGINAL = "original"
    """Function that this clone was made from."""
    ALIAS = "same code"
    """Another name of the same address."""
    TWIN = "twin"
    """A function of the same name, by its address."""
    CALLS = "calls it"
    """A caller, proven by an instruction in its code."""
    CONTAINS = "contains it"
    """A function with the code inlined, by debug information."""
    SAME_TYPE = "same type"
    """A function that takes a structure of the same type; may not be a caller."""


class Reason(NamedTuple):
    """Reason why a probe can't attach, or a note before a probe is built."""

    kind: ReasonKind
    text: str
    """A sentence without a full stop."""
    remedy: str = ""
    """Remedy, a command where there is one."""


class Alternative(NamedTuple):
    """A place that can be probed instead."""

    place: ProbePlace
    relation: Relation
    note: str = ""
    """Distinction or position: `between a_open and a_close`, `at +0x4c`."""
    kinds: frozenset[ProbeKind] = ALL


class Attachability(NamedTuple):
    """Answer for a function."""

    name: str
    module: str = ""
    kinds: frozenset[ProbeKind] = frozenset()
    """Probes that can attach."""
    reasons: tuple[Reason, ...] = ()
    """Reasons and notes; where nothing can attach, the first is the reason."""
    alternatives: tuple[Alternative, ...] = ()
    copies: tuple[str, ...] = ()
    """The compiler's clones of the function that can be traced: `name.isra.0`, ..."""

    @property
    def text(self) -> str:
        """All reasons in a line."""
        return "; ".join([reason.text for reason in self.reasons])

    @property
    def word(self) -> str:
        """The first reason in a word; empty where there is none."""
        return self.reasons[0].kind.value if self.reasons else ""

    @property
    def has_code(self) -> bool:
        """True if the function has code that runs, so that it may have callers."""
        return any(reason.kind in _CALLED for reason in self.reasons)

    def has(self, why: ReasonKind) -> bool:
        """Return whether there is a reason of a kind."""
        return any(reason.kind is why for reason in self.reasons)


class SymbolEntry(NamedTuple):
    """Symbol of the name asked for, as in kallsyms."""

    address: int
    code: bool = True
    module: str = ""
    section: TextSection | None = None
    previous: str = ""
    """The function before it: the linker places functions of a source file together."""
    next: str = ""
    base: SymbolBase | None = None
    """Reference point to find the symbol by, where it shares its name."""
    aliases: tuple[str, ...] = ()
    """Other names of its code that no other symbol has."""


class AbsentModule(NamedTuple):
    """Module that isn't loaded."""

    module: str
    is_proven: bool
    """True if the function was found in the module; False: only the module's name suggests it."""


@dataclass(frozen=True, slots=True)
class SymbolLookups:
    """Sources on a machine besides its facts; each None: unknown there."""

    symbols: Callable[[str], Sequence[SymbolEntry]] | None = None
    """All symbols of a name."""
    copies: Callable[[str], Sequence[str]] | None = None
    """Names of the compiler's clones of a function, traceable or not."""
    absent: Callable[[str], Sequence[AbsentModule]] | None = None
    """Modules on disk that may have an unknown function."""
    sections: Callable[[Set[str]], dict[str, TextSection | None]] | None = None
    """Sections of those names that belong to a single symbol, a function of the kernel itself."""


UNSEEN = SymbolLookups()
"""Lookups without any source."""
