"""What may stand at a place of a specification, as values, and what is known of a target while one is typed."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from btf.btf import Btf
from probes.attaching.catalog import Function
from probes.facts.facts import TargetFacts
from probes.facts.lookups import UNKNOWN, Environment


class ItemKind(enum.StrEnum):
    """What an item is."""

    LETTER = "kind"
    PLACE = "place"
    ARGUMENT = "argument"
    FIELD = "field"
    VARIABLE = "variable"
    REGISTER = "register"
    TYPE = "type"
    WORD = "word"
    VALUE = "value"


class Priority(enum.IntEnum):
    """How much the text wants one of the items."""

    STANDS = 0
    """It can stand as it is."""
    USUAL = 1
    """It can stand, but most go on."""
    NEEDED = 2
    """It can't stand without."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One way to go on."""

    text: str
    """What is put in the place of the text between `start` and `end`."""
    what: ItemKind
    label: str
    """What a person reads."""
    c_type: str = ""
    offset: int | None = None
    """Bytes from the last pointer."""
    about: str = ""
    """One line: what it is, or what it shows."""


@dataclass(frozen=True, slots=True)
class Completions:
    """What may stand at the cursor."""

    start: int
    end: int
    """The part of the text that an item replaces."""
    items: tuple[Completion, ...] = ()
    urge: Priority = Priority.STANDS
    note: str = ""
    """Why there is nothing, or what to type."""

    def taken(self, text: str, item: Completion) -> tuple[str, int]:
        """Give the text with an item in it, and the cursor's place; what stands behind it already isn't doubled."""
        new, rest = item.text, text[self.end :]
        for tail in ("->", " ", ".", "["):
            if new.endswith(tail) and rest.startswith(tail):
                rest = rest.removeprefix(tail)
        return text[: self.start] + new + rest, self.start + len(new)


NOTHING = Completions(0, 0)


def _none(query: str) -> tuple[str, ...]:  # noqa: ARG001 - by the type
    return ()


@dataclass(frozen=True, slots=True)
class NameSources:
    """Where names come from; a query gives those that match, best first, some dozens."""

    facts: TargetFacts
    btf: Callable[[str], Btf | None]
    """Types to read a function with, by its name (those of its module too)."""
    functions: Callable[[str], Sequence[Function]]
    function: Callable[[str], Function]
    """One function, by its exact name."""
    tracepoints: Callable[[str], Sequence[str]] = _none
    events: Callable[[str], Sequence[str]] = _none
    """As `group/event`."""
    environment: Environment = UNKNOWN
    files: Callable[[str], Sequence[str] | None] = lambda folder: None  # noqa: ARG005 - by the type
    """Names in a folder; None: it is not known, or none."""
    symbols: Callable[[str], Sequence[str]] = _none
    """The kernel's variables whose names begin with the query."""
    structs: Callable[[str], Sequence[str]] = _none
    """Structures of the kernel that have members, by the query."""
    made: Callable[[], Sequence[str]] = tuple
    """Lines of dynamic_events that we made."""


def ranked(names: Sequence[str], query: str) -> list[int]:
    """Give the places of names that have the query in them: those that begin with it, then the others.

    Of both, those with an underscore in front come last: such a name is the inner one where there are two.
    """
    low = query.lower()
    there = [n for n, name in enumerate(names) if low in name.lower()]
    return sorted(there, key=lambda n: (not names[n].lower().startswith(low), names[n].startswith("_")))
