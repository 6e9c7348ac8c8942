"""Represent completions of a specification as values, and the sources of a target's names for them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from btf.btf import Btf
from probes.attaching.catalog import Function
from probes.facts.facts import TargetFacts
from probes.facts.lookups import UNKNOWN, Environment

OPERATORS: Final = ("->", " ", ".", "[")
"""Texts that a completion ends with where more has to follow; one that is typed behind it is the same one."""


class ItemKind(enum.StrEnum):
    """Kind of a completion."""

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
    """Need of the text for a completion."""

    STANDS = 0
    """The text is complete."""
    USUAL = 1
    """The text is complete, but usually continues."""
    NEEDED = 2
    """The text is incomplete."""


@dataclass(frozen=True, slots=True)
class Completion:
    """Completion of a text."""

    text: str
    """Text that replaces the text from `start` to `end`."""
    kind: ItemKind
    label: str
    """Text shown to a person."""
    c_type: str = ""
    offset: int | None = None
    """Bytes from the last pointer."""
    description: str = ""
    """Description in a line."""


@dataclass(frozen=True, slots=True)
class Completions:
    """Completions at the cursor."""

    start: int
    end: int
    """Range of the text, from `start`, that an item replaces."""
    items: tuple[Completion, ...] = ()
    urge: Priority = Priority.STANDS
    note: str = ""
    """Reason for no items, or advice what to type."""

    def taken(self, text: str, item: Completion) -> tuple[str, int]:
        """Return the text with an item inserted, and the cursor's position; no operator or blank is doubled."""
        new, rest = item.text, text[self.end :]
        for tail in OPERATORS:
            if new.endswith(tail) and rest.startswith(tail):
                rest = rest.removeprefix(tail)
        return text[: self.start] + new + rest, self.start + len(new)


NOTHING = Completions(0, 0)


def _none(query: str) -> tuple[str, ...]:  # noqa: ARG001 - required by the type
    return ()


@dataclass(frozen=True, slots=True)
class NameSources:
    """Sources of names; a query returns matching names, best first, some dozens."""

    facts: TargetFacts
    btf: Callable[[str], Btf | None]
    """Types for a function, by its name (including types of its module)."""
    functions: Callable[[str], Sequence[Function]]
    function: Callable[[str], Function]
    """A function by its exact name."""
    tracepoints: Callable[[str], Sequence[str]] = _none
    events: Callable[[str], Sequence[str]] = _none
    """Names of events as `group/event`."""
    environment: Environment = UNKNOWN
    files: Callable[[str], Sequence[str] | None] = lambda folder: None  # noqa: ARG005 - required by the type
    """Names in a folder; None: unknown, or not a folder."""
    symbols: Callable[[str], Sequence[str]] = _none
    """The kernel's variables whose names begin with the query."""
    structs: Callable[[str], Sequence[str]] = _none
    """Structures of the kernel that have members, by the query."""
    made: Callable[[], Sequence[str]] = tuple
    """Lines of dynamic_events that probewright made."""
    is_recording: bool = False
    """True if the target is a recording, which has no code."""

    def event_names(self, typed: str) -> list[str]:
        """Return the names of events that a text may become, in its notation: `group/event` or `group.event`."""
        if "." not in typed:
            return list(self.events(typed))
        return [name.replace("/", ".", 1) for name in self.events(typed.replace(".", "/", 1))]


def ranked(names: Sequence[str], query: str) -> list[int]:
    """Return the indices of names that contain the query: names that begin with it first.

    Within both groups names with a leading underscore come last: such a name is usually that of an inner function.
    """
    low = query.lower()
    containing = [n for n, name in enumerate(names) if low in name.lower()]
    return sorted(containing, key=lambda n: (not names[n].lower().startswith(low), names[n].startswith("_")))
