"""Describe the part of a specification before the cursor: the place, and the values available there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from btf.btf import Btf
from probes.check import CheckResult, check_typed
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
    """Place of a probe, with the fetchargs before the cursor."""

    text: str
    """Letter, place and the fetchargs before the cursor, joined by single spaces."""
    known: NameSources
    btf: Btf | None
    tree: CaptureTree | None = None
    """Values that can be captured by name; None: none."""
    at_exit: bool = False

    @classmethod
    def of(cls, text: str, sources: NameSources) -> Scope | None:
        """Parse the text before the cursor; None where it is not a probe."""
        words = [word.text for word in split(text)]
        if len(words) < 2:
            return None
        joined, letter, place = " ".join(words), words[0][0], words[1]
        if letter == "e":
            return cls(joined, sources, sources.btf(""))
        if letter in "pr" and "/" in place:
            at_exit = letter == "r" or place.endswith("%return")
            return cls(joined, sources, sources.btf(""), at_exit=at_exit)
        if letter == "t":
            btf = sources.btf("")
            return cls(joined, sources, btf, CaptureTree(btf, place, sources.facts.machine, tracepoint_of))
        try:
            probe = parse_probe(f"{words[0]} {place}")
        except ParseError:
            return None
        btf = sources.btf(probe.place.symbol)
        tree = None if probe.place.offset else CaptureTree(btf, probe.place.symbol, sources.facts.machine)
        return cls(joined, sources, btf, tree, probe.when is not ProbeEnds.ENTRY)

    @property
    def letter(self) -> str:
        """Letter of the kind of probe."""
        return self.text[0]

    @property
    def in_program(self) -> bool:
        """True for a place in a program, where no types are known."""
        return self.letter in "pr" and "/" in self.text.split(" ")[1]

    @property
    def arguments(self) -> int:
        """Number of fetchargs before the cursor."""
        return self.text.count(" ") - 1

    @property
    def names(self) -> frozenset[str]:
        """Names of the fetchargs before the cursor."""
        return frozenset(re.split("[=:]", word)[0] for word in self.text.split(" ")[2:])

    @property
    def dialect(self) -> Dialect:
        """Dialect of the kernel's parser."""
        return dialect_of(self.known.facts, self.btf)

    def roots(self) -> tuple[CaptureNode, ...]:
        """Return the first level of values that can be captured by name."""
        return self.tree.roots() if self.tree is not None else ()

    def fields(self) -> tuple[StaticEventField, ...]:
        """Return the fields of the event that an event probe is on; empty where they are unknown."""
        group, event = split_name(self.text.split(" ")[1])
        look_up = self.known.environment.event
        return (look_up(group, event) if look_up is not None else None) or ()

    def checked(self) -> CheckResult:
        """Return the verdict on the text."""
        return self._check(self.text)

    def accepts(self, word: str) -> bool:
        """Return whether the kernel accepts a fetcharg here, regardless of the others."""
        letter, place = self.text.split(" ")[:2]
        return self._check(f"{letter} {place} {word}").verdict.ok

    def _check(self, text: str) -> CheckResult:
        return check_typed(text, self.btf, self.known.facts, environment=self.known.environment)
