"""Describe the part of a specification before the cursor: the place, and the values available there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from btf.btf import Btf
from events.names.function_choice import is_choice, is_type
from probes.check import CheckResult, check_typed
from probes.completion.choice import NameSources
from probes.facts.dialect import Dialect, dialect_of
from probes.facts.lookups import StaticEventField
from probes.functions.capture_tree import CaptureNode, CaptureTree
from probes.functions.function_shapes import type_signature
from probes.functions.signature import certain_signature_of, tracepoint_of
from probes.names import split_name
from probes.probe import Probe, ProbeEnds
from probes.syntax.parse import ParseError, parse_fetcharg, parse_probe, split_command

_WITHIN = 0x10
"""Offset of an instruction within a function, behind the places that differ from others."""


@dataclass(frozen=True)
class Scope:
    """Place of a probe, with the fetchargs before the cursor."""

    words: tuple[str, ...]
    """Letter, place and the fetchargs before the cursor."""
    known: NameSources
    btf: Btf | None
    tree: CaptureTree | None = None
    """Values that can be captured by name; None: none."""
    at_exit: bool = False
    results_only: bool = False
    """True where the arguments of the call are gone."""

    @classmethod
    def of(cls, text: str, sources: NameSources) -> Scope | None:
        """Parse the text before the cursor; None where it is not a probe."""
        words = tuple(word.text for word in split_command(text))
        if len(words) < 2:
            return None
        letter, place = words[0][0], words[1]
        if letter == "e":
            return cls(words, sources, sources.btf(""))
        if letter in "pr" and "/" in place:
            at_exit = letter == "r" or place.endswith("%return")
            return cls(words, sources, sources.btf(""), at_exit=at_exit)
        if letter == "t":
            btf = sources.btf("")
            return cls(words, sources, btf, CaptureTree(btf, place, sources.facts.machine, tracepoint_of))
        try:
            probe = parse_probe(f"{words[0]} {place}")
        except ParseError:
            return None
        if probe.needs_code:
            return cls._on_instructions(words, probe, sources)
        btf = sources.btf(probe.place.symbol)
        look_up = type_signature if is_type(probe.place.symbol) else certain_signature_of
        symbol, machine = probe.place.symbol, sources.facts.machine
        tree = None if probe.place.offset else CaptureTree(btf, symbol, machine, look_up)
        return cls(words, sources, btf, tree, probe.when is not ProbeEnds.ENTRY)

    @classmethod
    def _on_instructions(cls, words: tuple[str, ...], probe: Probe, sources: NameSources) -> Scope:
        """Return the scope of a probe on return instructions or tail calls, without a look at the function's code.

        A return probe reads the same results, and a kprobe within the function the same registers.
        """
        symbol, btf = probe.place.symbol, sources.btf(probe.place.symbol)
        if probe.when is ProbeEnds.TAIL_CALLS:
            return cls(("p", f"{symbol}+{_WITHIN}", *words[2:]), sources, btf)
        tree = CaptureTree(btf, symbol, sources.facts.machine, certain_signature_of)
        return cls(("r", symbol, *words[2:]), sources, btf, tree, at_exit=True, results_only=True)

    @property
    def text(self) -> str:
        """Letter, place and the fetchargs before the cursor, joined by single spaces."""
        return " ".join(self.words)

    @property
    def letter(self) -> str:
        """Letter of the kind of probe."""
        return self.words[0][0]

    @property
    def place(self) -> str:
        """Place of the probe as written."""
        return self.words[1]

    @property
    def in_program(self) -> bool:
        """True for a place in a program, where no types are known."""
        return self.letter in "pr" and "/" in self.place

    @property
    def arguments(self) -> int:
        """Number of fetchargs before the cursor."""
        return len(self.words) - 2

    @property
    def names(self) -> frozenset[str]:
        """Names of the fetchargs before the cursor."""
        return frozenset(re.split("[=:]", word)[0] for word in self.words[2:])

    @property
    def dialect(self) -> Dialect:
        """Dialect of the kernel's parser."""
        return dialect_of(self.known.facts, self.btf)

    def roots(self) -> tuple[CaptureNode, ...]:
        """Return the first level of values that can be captured by name."""
        roots = self.tree.roots() if self.tree is not None else ()
        return tuple(root for root in roots if root.at_exit) if self.results_only else roots

    def fields(self) -> tuple[StaticEventField, ...]:
        """Return the fields of the event that an event probe is on; empty where they are unknown."""
        group, event = split_name(self.place)
        look_up = self.known.environment.event
        return (look_up(group, event) if look_up is not None else None) or ()

    def checked(self) -> CheckResult:
        """Return the verdict on the text."""
        return self._check(self.text)

    def accepts(self, word: str) -> bool:
        """Return whether the kernel accepts a fetcharg here, regardless of the others."""
        if self.letter == "f" and is_choice(self.place.partition("%")[0]) and self.tree is not None:
            return self._reads(word)
        return self._check(f"{self.words[0]} {self.place} {word}").verdict.ok

    def _reads(self, word: str) -> bool:
        """Return whether a fetcharg can be read of several functions: to lower it for each would take too long."""
        try:
            parse_fetcharg(word)
        except ParseError:
            return False
        return True

    def _check(self, text: str) -> CheckResult:
        return check_typed(text, self.btf, self.known.facts, environment=self.known.environment)
