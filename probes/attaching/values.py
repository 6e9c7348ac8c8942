"""The values of the answer to "why can't I probe this here, and what can I do instead" (`attach` gives it)."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from probes.attaching.kernel_text import TextSection
from probes.probe import ProbeKind, ProbePlace, SymbolBase

ALL = frozenset({ProbeKind.FPROBE, ProbeKind.KPROBE, ProbeKind.KRETPROBE})
"""What attaches to an ordinary function."""


class ReasonKind(enum.StrEnum):
    """A reason, by the word for it that fits into a narrow column."""

    PRIVILEGES = "not root"
    LOCKDOWN = "lockdown"
    TRACER = "no tracer"
    MACHINE = "not here"
    """Something else that is in the way of every probe (`TargetFacts.troubles`)."""
    NO_KPROBES = "no kprobes"
    BLACKLIST = "blacklist"
    NOINSTR = "noinstr"
    ENTRY = "entry code"
    NOTRACE = "notrace"
    INIT = "boot only"
    UNTRACED = "not traced"
    """Not traceable; which of the reasons can't be told without symbols."""
    INLINED = "inlined"
    PARTLY_INLINED = "inlined too"
    RENAMED = "renamed"
    """Only copies are left that the compiler made."""
    COPIES = "has copies"
    COPY = "a copy"
    ALIAS = "an alias"
    """The tracer lists its code by another name."""
    COLD = "cold part"
    PADDING = "padding"
    WEAK = "overridden"
    TWINS = "twins"
    MODULE = "no module"
    """In a module that isn't loaded."""
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
    """How a name comes to stand in the place of another."""

    COPY = "copy"
    """Made of it by the compiler."""
    ORIGINAL = "original"
    """What this copy was made of."""
    ALIAS = "same code"
    """Another name of its address."""
    TWIN = "twin"
    """One of several of this name, by its address."""
    CALLS = "calls it"
    """An instruction in its code does."""
    CONTAINS = "contains it"
    """Debug information says that it was inlined there."""
    SAME_TYPE = "same type"
    """Takes a structure of the same type: a relative perhaps, no caller."""


class Reason(NamedTuple):
    """One thing that is in the way, or worth knowing before a probe is built."""

    why: ReasonKind
    text: str
    """One sentence without a full stop."""
    remedy: str = ""
    """What to do about it, a command where there is one."""


class Alternative(NamedTuple):
    """What can be probed instead."""

    place: ProbePlace
    how: Relation
    note: str = ""
    """Which one it is, or where in it: `between a_open and a_close`, `at +0x4c`."""
    kinds: frozenset[ProbeKind] = ALL


class Attachability(NamedTuple):
    """The answer for one function."""

    name: str
    module: str = ""
    kinds: frozenset[ProbeKind] = frozenset()
    """What can attach."""
    reasons: tuple[Reason, ...] = ()
    """Where nothing can attach, the first one says why."""
    instead: tuple[Alternative, ...] = ()
    copies: tuple[str, ...] = ()
    """What the compiler made of it and can be traced: `name.isra.0`, ..."""

    @property
    def text(self) -> str:
        """All reasons in one line."""
        return "; ".join([reason.text for reason in self.reasons])

    @property
    def word(self) -> str:
        """The first reason in a word; empty where there is none."""
        return self.reasons[0].why.value if self.reasons else ""

    @property
    def called(self) -> bool:
        """Whether it has code that runs, so that to look for its callers makes sense."""
        return any(reason.why in _CALLED for reason in self.reasons)

    def has(self, why: ReasonKind) -> bool:
        """Whether a reason is among them."""
        return any(reason.why is why for reason in self.reasons)


class SymbolEntry(NamedTuple):
    """One symbol of the name that is asked for, as kallsyms has it."""

    address: int
    code: bool = True
    module: str = ""
    section: TextSection | None = None
    before: str = ""
    """The function in front of it: the linker keeps those of one source file together."""
    after: str = ""
    base: SymbolBase | None = None
    """How to find it where it shares its name."""
    aliases: tuple[str, ...] = ()
    """Other names of its code that no other symbol has."""


class AbsentModule(NamedTuple):
    """A module that isn't loaded."""

    module: str
    certain: bool
    """The function was found in it; else only its name says so."""


@dataclass(frozen=True, slots=True)
class SymbolLookups:
    """What can be asked of a machine besides its facts; None: it can't be known there."""

    symbols: Callable[[str], Sequence[SymbolEntry]] | None = None
    """By name, all of them."""
    copies: Callable[[str], Sequence[str]] | None = None
    """Names of symbols that the compiler made of a function, traceable or not."""
    absent: Callable[[str], Sequence[AbsentModule]] | None = None
    """Modules on disk that may have a function which nobody knows."""
    sections: Callable[[Set[str]], dict[str, TextSection | None]] | None = None
    """Of those of some names that one symbol alone has, a function of the kernel itself."""


UNSEEN = SymbolLookups()
"""Nothing can be asked."""
