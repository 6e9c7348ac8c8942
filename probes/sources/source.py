"""Represent a source: a kind of events that are no probe's, with its options, and read it from text.

    timerlat period=500us cpus=0-3 stop=100us

The first word names the kind, each other one gives an option its value, in any order. Only probewright has these
words; `probes.lowering.sources` makes the kernel's settings of them.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeGuard

from probes.sources.kinds import KINDS, MONITOR, WATCHPOINT, SourceKind
from probes.sources.option import BadValue, SourceOption, microseconds
from probes.syntax.parse_error import ParseError, refuse
from probes.syntax.text import Word, split


@dataclass(frozen=True, slots=True)
class Source:
    """Request for the events of a source; see the module for the syntax."""

    name: str
    """Name of its kind."""
    given: tuple[tuple[str, str], ...] = ()
    """Options with their values, each in its one text, in the order of the kind."""

    @classmethod
    def of(cls, name: str, values: Mapping[str, str]) -> Source:
        """Return a source of a kind with options. Raises KeyError for an unknown name, BadValue."""
        kind = KINDS[name]
        unknown = values.keys() - {option.name for option in kind.options}
        if unknown:
            raise KeyError(min(unknown))
        texts = {option: values[option.name] for option in kind.options if option.name in values}
        return cls(name, tuple((option.name, option.normal(text)) for option, text in texts.items()))

    @property
    def kind(self) -> SourceKind:
        """Kind of source."""
        return KINDS[self.name]

    @property
    def subject(self) -> str:
        """Name of the kind; of a watchpoint or a monitor with its place."""
        place = self.value(self.kind.required) if self.kind.required else ""
        return f"{self.name} {place}".rstrip()

    @property
    def filter(self) -> str:
        """Filter in the kernel: there is none."""
        return ""

    def value(self, name: str) -> str:
        """Return the value of an option, or its default; empty: the kernel's setting stays. Raises KeyError."""
        option = self.kind.option(name)
        if option is None:
            raise KeyError(name)
        return dict(self.given).get(name, option.default)

    def us(self, name: str) -> int:
        """Return the microseconds of an option; 0 where it is off or the kernel's setting stays. Raises KeyError."""
        return microseconds(self.value(name)) or 0

    def has(self, name: str) -> bool:
        """Return whether an option has a value of its own or by default."""
        return bool(self.value(name))

    def having(self, name: str, text: str) -> Source:
        """Return the source with another value of an option; empty: without it. Raises KeyError, BadValue."""
        values = dict(self.given)
        if text:
            values[name] = text
        else:
            values.pop(name, None)
        return Source.of(self.name, values)

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{name}={value}" for name, value in self.given)])


def is_watchpoint(probe: object) -> TypeGuard[Source]:
    """Return whether a probe is a watchpoint, which BPF programs record."""
    return isinstance(probe, Source) and probe.kind is WATCHPOINT


def is_monitor(probe: object) -> TypeGuard[Source]:
    """Return whether a probe is a monitor, whose events a thread of ours makes."""
    return isinstance(probe, Source) and probe.kind is MONITOR


def has_one_means(probe: object) -> TypeGuard[Source]:
    """Return whether a probe is a source that is recorded in one way only, whichever is asked for."""
    return is_watchpoint(probe) or is_monitor(probe)


def is_latency(probe: object) -> TypeGuard[Source]:
    """Return whether a probe is a source of latencies."""
    return isinstance(probe, Source) and probe.kind.is_latency


def is_source(text: str) -> bool:
    """Return whether a text's first word names a kind of source."""
    words = split(text)
    return bool(words) and words[0].text in KINDS


def parse_source(text: str) -> Source:
    """Read a source. Raises ParseError with the column of the wrong word."""
    first, *words = split(text)
    kind = KINDS[first.text]
    if kind.is_bare:
        words = _named_words(kind, words)
    values: dict[str, str] = {}
    for word in words:
        option, value = _option(kind, word)
        if option.name in values:
            raise refuse("bad_option", word.start, word.text, f"{option.name} is given twice")
        try:
            values[option.name] = option.normal(value)
        except BadValue as error:
            raise refuse("bad_option", word.start + len(option.name) + 1, value, str(error)) from None
    return Source.of(kind.name, values)


def _named_words(kind: SourceKind, words: list[Word]) -> list[Word]:
    """Return words with the names of options; those that have them are as they were.

    `vm_zone_stat nr_free_pages --every 1s` is `of=vm_zone_stat[nr_free_pages] every=1s`.
    """
    found: list[Word] = []
    rest, bare = list(words), -1
    while rest:
        word = rest.pop(0)
        if word.text.startswith("--") and "=" not in word.text and rest:
            value = rest.pop(0)
            word = Word(f"{word.text[2:]}={value.text}", value.start - len(word.text) + 1)
        elif word.text.startswith("--"):
            word = Word(word.text[2:], word.start + 2)
        elif "=" in word.text or kind.option(word.text) is not None:
            pass
        elif bare < 0:
            bare, word = len(found), Word(f"{kind.required}={word.text}", word.start - len(kind.required) - 1)
        elif "[" not in found[bare].text:
            found[bare] = found[bare]._replace(text=f"{found[bare].text}[{word.text}]")
            continue
        found.append(word)
    return found


def _option(kind: SourceKind, word: Word) -> tuple[SourceOption, str]:
    """Return the option of a word, and its value. Raises ParseError."""
    name, equals, value = word.text.partition("=")
    option = kind.option(name)
    if option is not None and equals:
        return option, value
    if option is not None:
        raise refuse("bad_option", word.start, word.text, f"Give it a value: {name}= and {option.bounds}")
    names = [one.name for one in kind.options]
    raise _unknown(word, name, names, tuple(difflib.get_close_matches(name, names, 3)))


def _unknown(word: Word, name: str, names: list[str], near: tuple[str, ...]) -> ParseError:
    error = refuse("unknown_option", word.start, name, f"Options: {', '.join(names)}")
    error.refusal = replace(error.refusal, nearest=near)
    return error
