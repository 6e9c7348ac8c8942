"""The part of a specification that stands before the cursor: what it says of the values that can be had there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from btf.btf import Btf
from probes.check import Checked, check_typed
from probes.completion.choice import NameSources
from probes.facts.dialect import Dialect, dialect_of
from probes.facts.lookups import StaticEventField
from probes.functions.capture_tree import CaptureNode, CaptureTree
from probes.functions.signature import tracepoint_of
from probes.names import split_name
from probes.probe import ProbeEnds
from probes.syntax.parse import ParseError, parse_probe
from probes.syntax.text import split


@dataclass(frozen=True)
class Scope:
    """Where a probe sits, with the fetchargs that are there already."""

    text: str
    """Letter, place and the fetchargs before, joined by one space."""
    known: NameSources
    btf: Btf | None
    tree: CaptureTree | None = None
    """What can be captured by name; None: nothing."""
    at_exit: bool = False

    @classmethod
    def of(cls, text: str, known: NameSources) -> Scope | None:
        """Read what stands before; None where that is no probe of something."""
        words = [word.text for word in split(text)]
        if len(words) < 2:
            return None
        joined, letter, place = " ".join(words), words[0][0], words[1]
        if letter == "e":
            return cls(joined, known, known.btf(""))
        if letter in "pr" and "/" in place:
            returns = letter == "r" or place.endswith("%return")
            return cls(joined, known, known.btf(""), at_exit=returns)
        if letter == "t":
            btf = known.btf("")
            return cls(joined, known, btf, CaptureTree(btf, place, known.facts.machine, tracepoint_of))
        try:
            probe = parse_probe(f"{words[0]} {place}")
        except ParseError:
            return None
        btf = known.btf(probe.place.symbol)
        tree = None if probe.place.offset else CaptureTree(btf, probe.place.symbol, known.facts.machine)
        return cls(joined, known, btf, tree, probe.when is not ProbeEnds.ENTRY)

    @property
    def letter(self) -> str:
        """Of the kind of probe."""
        return self.text[0]

    @property
    def in_program(self) -> bool:
        """Whether it is a place in a program, where no types are known."""
        return self.letter in "pr" and "/" in self.text.split(" ")[1]

    @property
    def arguments(self) -> int:
        """How many fetchargs are there already."""
        return self.text.count(" ") - 1

    @property
    def names(self) -> frozenset[str]:
        """What the fetchargs there are called, as far as they say."""
        return frozenset(re.split("[=:]", word)[0] for word in self.text.split(" ")[2:])

    @property
    def dialect(self) -> Dialect:
        """The parser of the kernel."""
        return dialect_of(self.known.facts, self.btf)

    def roots(self) -> tuple[CaptureNode, ...]:
        """The first level of what can be captured by name."""
        return self.tree.roots() if self.tree is not None else ()

    def fields(self) -> tuple[StaticEventField, ...]:
        """Fields of the event that an event probe sits on; empty where they aren't known."""
        group, event = split_name(self.text.split(" ")[1])
        look_up = self.known.environment.event
        return (look_up(group, event) if look_up is not None else None) or ()

    def checked(self) -> Checked:
        """What the kernel says of the text."""
        return self._check(self.text)

    def accepts(self, word: str) -> bool:
        """Whether the kernel takes a fetcharg here, whatever the others are."""
        letter, place = self.text.split(" ")[:2]
        return self._check(f"{letter} {place} {word}").verdict.ok

    def _check(self, text: str) -> Checked:
        return check_typed(text, self.btf, self.known.facts, environment=self.known.environment)
