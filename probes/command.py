"""Commands of tracefs as values: text -> tree -> the same text, for every kind of dynamic event.

A probe on a kernel function is a `Probe`; so are a tracepoint probe and an event probe, whose place is the tracepoint
or the event. `parse_command` reads what `dynamic_events` takes, and what is ours: `$$args`, `%both`, a symbol in a
program, a filter. Words keep the spelling in which they were written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from events.names.function_choice import choice_or_any, is_choice
from probes.fetcharg import FetchArg
from probes.names import check_name, split_name
from probes.objects.request import ObjectProbe, is_object, parse_object
from probes.probe import Probe, ProbeKind, ProbePlace
from probes.sources.source import Source, is_source, parse_source
from probes.static_events import Latency, StaticEvent, is_static, parse_static
from probes.syntax.parse import arguments_of, parse_probe, uses_own, words_of
from probes.syntax.parse_error import ParseError, refuse
from probes.syntax.text import split
from probes.user_events.event import UserEvent, is_user_event, parse_user_event

_NO_FUNCTION = (ProbeKind.TRACEPOINT, ProbeKind.EVENT, ProbeKind.UPROBE)
_SEPARATOR = re.compile(r"(?<!\s)\s*+;\s*+")
_OFFSET = re.compile(r"([0-9][0-9a-zA-Z]*)(%return)?(?:\(([^()]*)\))?")
_STATIC = re.compile(r"([^/\n]*+/.*):(sdt_[A-Za-z0-9_]+:[A-Za-z0-9_]+)()()")
_FUNCTION = re.compile(r"([^/\n]*+/.*):([A-Za-z_.$][^:%+()]*)(\+[0-9][0-9a-zA-Z]*)?(%return)?")


@dataclass(frozen=True, slots=True)
class UserProbe:
    """A probe in a user-space program: `p:group/event /bin/true:0x1000(0x20) %di`."""

    path: str
    offset: str
    """Offset as written: bytes from the beginning of the file; after a symbol `+0x10` or empty."""
    suffix: bool = False
    """True if `%return` follows the offset."""
    fetchargs: tuple[FetchArg, ...] = ()
    reference: str | None = None
    """Offset of a reference counter, as written."""
    head: str = "p"
    """The command's letter with any characters after it, which the kernel ignores."""
    name: str | None = None
    """`group/event`; None: the kernel makes a name."""
    symbol: str = ""
    """A function, or a static probe as `sdt_PROVIDER:NAME`. Symbols are probewright's; the kernel takes numbers."""
    filter: str = ""
    """Filter on the recorded fields. Probewright's own syntax; the kernel takes it in the event's `filter` file."""

    @property
    def returns(self) -> bool:
        """True for a probe at the exit of a function."""
        return self.suffix or self.head.startswith("r")

    @property
    def subject(self) -> str:
        """Program and offset or symbol of the probe."""
        return f"{self.path}:{self.symbol}{self.offset}"

    def __str__(self) -> str:
        counter = "" if self.reference is None else f"({self.reference})"
        place = f"{self.subject}{'%return' if self.suffix else ''}{counter}"
        condition = ["if", self.filter] if self.filter else []
        return " ".join([_head(self.head, self.name), place, *map(str, self.fetchargs), *condition])


@dataclass(frozen=True, slots=True)
class SyntheticField:
    """Field of a synthetic event: `unsigned int count`, `char comm[16]`."""

    type: str
    name: str
    """Field name, with the `[N]` of an array."""

    def __str__(self) -> str:
        return f"{self.type} {self.name}"


@dataclass(frozen=True, slots=True)
class SyntheticEvent:
    """Synthetic event: `s:name type field; type field`, or without the `s:` as synthetic_events takes it."""

    name: str
    """Event name, with `synthetic/` where that was written."""
    fields: tuple[tuple[SyntheticField, ...], ...]
    """Groups of fields between semicolons; the kernel still accepts several fields in a group, and none."""
    separators: tuple[str, ...] = ()
    """Semicolons as written, with blanks; missing ones are printed as `; `."""
    prefix: str = "s:"

    @property
    def subject(self) -> str:
        """Event name without the group `synthetic/`, which all synthetic events have."""
        return self.name.removeprefix("synthetic/")

    def __str__(self) -> str:
        text = f"{self.prefix}{self.name}"
        for number, group in enumerate(self.fields):
            between = " " if number == 0 else self.separators[number - 1] if number <= len(self.separators) else "; "
            text += between + " ".join(map(str, group))
        return text


@dataclass(frozen=True, slots=True)
class Deletion:
    """Deletion: `-:group/event`, then place and arguments of a probe where several share the event."""

    name: str
    match: tuple[str, ...] = ()
    head: str = "-"
    """First word before the colon: `-` or `!p`."""

    def __str__(self) -> str:
        return " ".join([f"{self.head}:{self.name}", *self.match])


Armable = Probe | UserProbe | SyntheticEvent | StaticEvent | Latency | ObjectProbe | Source | UserEvent
"""Values that can be lowered and armed."""
Command = Armable | Deletion


def parse_command(text: str) -> Command:
    """Read one command to dynamic_events. Raises ParseError with the column in it, its words joined by one space."""
    if is_object(text):
        return parse_object(text)
    if is_static(text):
        return parse_static(text)
    if is_source(text):
        return parse_source(text)
    if is_user_event(text):
        return parse_user_event(text)
    words = split(text)  # as the kernel splits: Python's split() knows more blanks
    first = words[0].text[0] if words else ""
    if first in ("-", "!"):
        return _deletion(text)
    if words and words[0].text.startswith("s:"):
        return parse_synthetic(text)
    if first in ("p", "r") and len(words) > 1 and "/" in words[1].text:
        return _user(text)
    if first in ("t", "e"):
        return _event(text)
    return parse_probe(text)


@dataclass(frozen=True, slots=True)
class CommandText:
    """Text of a command with its value, so that the text is parsed once."""

    text: str
    command: Command | None
    """Value of the text; None: it can't be parsed."""
    error: ParseError | None = None

    @classmethod
    def parse(cls, text: str) -> CommandText:
        """Parse a text; an error is kept in the value."""
        try:
            return cls(text, parse_command(text))
        except ParseError as error:
            return cls(text, None, error)

    @property
    def armable(self) -> Armable | None:
        """Probe to arm; None: the text can't be parsed, or is a deletion."""
        return None if isinstance(self.command, Deletion) else self.command

    def require_armable(self) -> Armable:
        """Return the probe to arm. Raises ParseError, for a deletion too."""
        if self.command is None:
            assert self.error is not None  # noqa: S101
            raise self.error
        if isinstance(self.command, Deletion):
            raise refuse("deletion", 0, self.command.head)
        return self.command

    def __str__(self) -> str:
        return self.text


def parse_armable(text: str) -> Armable:
    """Parse the text of a probe to arm. Raises ParseError, for a deletion too."""
    return CommandText.parse(text).require_armable()


def is_function(probe: Armable) -> bool:
    """Return whether a probe is on a kernel function."""
    return isinstance(probe, Probe) and probe.kind not in _NO_FUNCTION


def short_subject(probe: Armable) -> str:
    """Return the subject of a probe for a message: of many functions the first few, and the number of the others."""
    subject = probe.subject
    return choice_or_any(subject).short_text if is_function(probe) and is_choice(subject) else subject


def has_own_syntax(text: str) -> bool:
    """Return whether the text uses syntax that only probewright has, so that the kernel would reject it."""
    if is_static(text) or is_object(text) or is_source(text) or is_user_event(text):
        return True
    words = split(text)
    if not words or words[0].text[0] not in "fprte":
        return False
    place = words[1].text if len(words) > 1 else ""
    user = words[0].text[0] in "pr" and "/" in place
    symbol = user and any(form.fullmatch(place) for form in (_STATIC, _FUNCTION))
    return symbol or uses_own(text, has_filter=words[0].text[0] == "e")


def parse_synthetic(text: str) -> SyntheticEvent:
    """Parse a synthetic event, with or without `s:`. Raises ParseError."""
    text = text.split("#", 1)[0].strip()
    prefix = "s:" if text.startswith("s:") else ""
    name, _, rest = text[len(prefix) :].replace("\t", " ", 1).partition(" ")
    if not name or not rest.strip():
        raise refuse("INVALID_CMD", 0, text)
    parts = _SEPARATOR.split(rest.lstrip())
    return SyntheticEvent(name, tuple(map(_fields, parts)), tuple(_SEPARATOR.findall(rest.lstrip())), prefix)


def _fields(text: str) -> tuple[SyntheticField, ...]:
    words, fields = text.split(), []
    while words:
        size = 3 if words[0] == "unsigned" else 2
        if len(words) < size:
            raise refuse("INCOMPLETE_TYPE" if size == 3 else "INVALID_FIELD", 0, words[0])
        fields.append(SyntheticField(" ".join(words[: size - 1]), words[size - 1]))
        words = words[size:]
    return tuple(fields)


def _deletion(text: str) -> Deletion:
    words = [word.text for word in split(text)]
    head, colon, name = words[0].partition(":")
    if not colon or not name or (head.startswith("-") and head != "-"):
        raise refuse("no_event_named", 0, words[0])
    return Deletion(name, tuple(words[1:]), head)


def _event(text: str) -> Probe:
    """Parse a tracepoint probe or an event probe."""
    words, condition = words_of(text)
    head, name = _named(words[0].text)
    if len(words) < 2:
        raise refuse("no_place", len(words[0].text))
    group, event = split_name(name) if name is not None else ("", "")
    separator = name[len(group)] if name is not None and group else "/"
    return Probe(
        ProbePlace(words[1].text),
        kind=ProbeKind(head[0]),
        fetchargs=arguments_of(words),
        filter=condition,
        group=group,
        event=event,
        maxactive=head[1:],
        separator=separator,
    )


def _user(text: str) -> UserProbe:
    words, condition = words_of(text)
    head, name = _named(words[0].text)
    place, arguments = words[1].text, arguments_of(words)
    path, colon, rest = place.rpartition(":")
    found = _OFFSET.fullmatch(rest)
    if colon and found is not None:
        suffix = found[2] is not None
        return UserProbe(path, found[1], suffix, arguments, found[3], head, name, filter=condition)
    named = _STATIC.fullmatch(place) or _FUNCTION.fullmatch(place)
    if named is None:
        raise refuse("BAD_UPROBE_OFFS", len(words[0].text) + 1 + len(path) + 1, rest)
    return UserProbe(named[1], named[3] or "", bool(named[4]), arguments, None, head, name, named[2], condition)


def _named(word: str) -> tuple[str, str | None]:
    """Return letter and event name of a command's first word. Raises ParseError."""
    head, colon, name = word.partition(":")
    if colon and (bad := check_name(name)) is not None:
        raise refuse(bad[0], len(head) + 1 + bad[1], name)
    return head, name if colon else None


def _head(head: str, name: str | None) -> str:
    return head if name is None else f"{head}:{name}"
