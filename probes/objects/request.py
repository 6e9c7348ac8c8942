"""Represent a compiled BPF object that is to be attached, with its text: `FILE.bpf.o programs=a,b MAP=STRUCT`.

The first word is the file, as a shell would take it; with `object:` before it, of any name. `programs` names
those that are attached (else: all that can be, and that are not marked as optional). `MAP=STRUCT` says what the
records of a ring or perf buffer are: a struct of the object, or its members: `events='u64 ts, char comm[16]'`.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Final

from probes.syntax.parse_error import refuse

SUFFIX: Final = ".bpf.o"
_PREFIX: Final = "object:"
_PROGRAMS: Final = "programs"
_WORD = re.compile(r"([A-Za-z_][\w.]*)=(.+)", re.DOTALL)
_LONGEST: Final = 1 << 14
"""Characters of the longest text: shlex takes the square of the length of a word, 23 s for a million."""


@dataclass(frozen=True, slots=True)
class ObjectProbe:
    """A compiled BPF object, with its programs that are attached; see the module."""

    path: str
    """File on the machine that this application runs on."""
    programs: tuple[str, ...] = ()
    """Names of programs; empty: all that can be attached."""
    records: tuple[tuple[str, str], ...] = ()
    """Map, and struct or declaration of its records."""

    @property
    def subject(self) -> str:
        """Name of the file, without its folder."""
        return self.path.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """Name of its events: of the file, without suffixes and with letters, digits and `_` alone."""
        found = re.sub(r"\W", "_", self.subject.partition(".")[0], flags=re.ASCII)[:40]
        return found if re.match("[A-Za-z_]", found) else f"object_{found}"

    def __str__(self) -> str:
        prefix = "" if self.path.endswith(SUFFIX) else _PREFIX
        words = [prefix + self.path]
        if self.programs:
            words.append(f"{_PROGRAMS}={','.join(self.programs)}")
        return shlex.join([*words, *(f"{name}={struct}" for name, struct in self.records)])


def is_object(text: str) -> bool:
    """Return whether a text names an object; one that is longer than any such text does not."""
    words = _words(text) if len(text) <= _LONGEST else []
    return bool(words) and (words[0].endswith(SUFFIX) or words[0].startswith(_PREFIX))


def parse_object(text: str) -> ObjectProbe:
    """Parse such a text. Raises ParseError."""
    words = _words(text)
    path = words[0].removeprefix(_PREFIX)
    programs: tuple[str, ...] = ()
    records: dict[str, str] = {}
    for word in words[1:]:
        match = _WORD.fullmatch(word)
        if match is None or not path:
            raise refuse("object_word", text.find(word), word)
        if match[1] == _PROGRAMS:
            programs = tuple(dict.fromkeys(name for name in match[2].split(",") if name))
        else:
            records[match[1]] = match[2]
    return ObjectProbe(path, programs, tuple(records.items()))


def object_text(text: str, programs: tuple[str, ...], records: tuple[str, ...]) -> str:
    """Return the text of an object with programs and records (`MAP=STRUCT`) that were named elsewhere.

    Raises ParseError.
    """
    probe = parse_object(shlex.join([*_words(text), *records]))
    return str(ObjectProbe(probe.path, programs or probe.programs, probe.records))


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quotation mark that is not closed
        return text.split()
