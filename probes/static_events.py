"""Parse the two requests for existing events: an event unchanged, and the latency between two events.

Only probewright has these; the kernel has no command for them. `on GROUP/EVENT if FILTER` switches an event on in our
instance. The time from one event to another is measured by the kernel itself, by two hist triggers and a synthetic
event:

    lat:NAME BEGIN to END by KEY[=KEY][,…] [with FIELD[,…]] [if FILTER]

BEGIN and END are `group/event`, or a probe in braces that defines the event. KEY=KEY names the field of BEGIN and the
field of END whose equal values pair the two events. Each FIELD is a field of END, else of BEGIN. The resulting event
has the field `lat`, in nanoseconds, then the keys and the fields; the filter applies to these.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from probes.names import split_name
from probes.syntax.parse import words_of
from probes.syntax.parse_error import refuse
from probes.syntax.text import collapsed, is_group, is_identifier

ON = "on"
_LATENCY = re.compile(r"lat(?::(\S*))?(?:\s|$)")
_SIDE = r"(\{[^{}]*\}|[^\s{}]+)"
_MEASURED = re.compile(rf"lat(?::(\S+))?\s+{_SIDE}\s+to\s+{_SIDE}\s+by\s+(\S+)(?:\s+with\s+(\S+))?\s*")
_FILTER = re.compile(r"\sif\s")


@dataclass(frozen=True, slots=True)
class StaticEvent:
    """A kernel event unchanged, with all its fields: `on tcp/tcp_retransmit_skb if dport == 80`."""

    path: str
    """`group/event`."""
    filter: str = ""
    """Filter on the event's fields."""

    @property
    def subject(self) -> str:
        return self.path

    def __str__(self) -> str:
        return f"{ON} {self.path} if {self.filter}" if self.filter else f"{ON} {self.path}"


class LatencyKey(NamedTuple):
    """Pair of fields, from the begin and the end event, whose equal values pair the two events."""

    begin: str
    """Field of the begin event."""
    end: str
    """Field of the end event."""

    def __str__(self) -> str:
        return self.begin if self.begin == self.end else f"{self.begin}={self.end}"


@dataclass(frozen=True, slots=True)
class Latency:
    """Latency from an event to another with the same keys; see the module for the syntax."""

    name: str
    begin: str
    """`group/event`, or the text of a probe."""
    end: str
    keys: tuple[LatencyKey, ...]
    """Keys, one to three."""
    fields: tuple[str, ...] = ()
    filter: str = ""
    """Filter on `lat`, the keys (with the names they have in the end event) and the fields."""

    @property
    def subject(self) -> str:
        return self.name

    def __str__(self) -> str:
        words = [f"lat:{self.name}", _side(self.begin), "to", _side(self.end), "by", ",".join(map(str, self.keys))]
        if self.fields:
            words += ["with", ",".join(self.fields)]
        if self.filter:
            words += ["if", self.filter]
        return " ".join(words)


def is_static(text: str) -> bool:
    """Return whether a text is an `on` or a `lat` request."""
    first = text.split(maxsplit=1)[:1]
    return first == [ON] or (bool(first) and _LATENCY.fullmatch(first[0]) is not None)


def parse_static(text: str) -> StaticEvent | Latency:
    """Parse an `on` or a `lat` request. Raises ParseError."""
    if text.split(maxsplit=1)[0] != ON:
        return _latency(collapsed(text))
    words, condition = words_of(text)
    if len(words) < 2:
        raise refuse("no_event", len(ON))
    if len(words) > 2:
        raise refuse("event_as_it_is", words[2].start, words[2].text)
    return StaticEvent(_path(words[1].text, words[1].start), condition)


def _latency(text: str) -> Latency:
    match = _MEASURED.match(text)
    if match is None:
        raise refuse("bad_latency", 0, text.split(" ")[0], "lat:NAME BEGIN to END by KEY=KEY with FIELDS if FILTER")
    rest = text[match.end() :]
    condition = rest.removeprefix("if ").strip()
    if rest and (not rest.startswith("if ") or not condition):
        raise refuse("bad_latency", match.end(), rest.split(" ")[0], "What comes last is `if` and a filter")
    name, begin, end, keys, fields = match.groups()
    if not name or not is_identifier(name):
        raise refuse("bad_latency", 4, name or "", "It needs a name: lat:NAME")
    sides = [side[1:-1].strip() if side[0] == "{" else _path(side, text.find(side)) for side in (begin, end)]
    pairs = tuple(LatencyKey(*_key_fields(key)) for key in keys.split(","))
    wanted = tuple(fields.split(",")) if fields else ()
    for word in (*(name for key in pairs for name in key), *wanted):
        if not is_identifier(word):
            raise refuse("bad_latency", match.start(4), word, "Keys and fields are names with commas between them")
    if len(pairs) > 3:
        raise refuse("bad_latency", match.start(4), keys, "At most three keys")
    return Latency(name, sides[0], sides[1], pairs, wanted, condition)


def _key_fields(key: str) -> tuple[str, str]:
    begin, _, end = key.partition("=")
    return begin, end or begin


def _path(text: str, column: int) -> str:
    group, event = split_name(text.replace(":", "/", 1))
    if not is_group(group) or not is_identifier(event):
        raise refuse("no_event", column, text, "Say group/event, as tcp/tcp_retransmit_skb")
    return f"{group}/{event}"


def _side(text: str) -> str:
    return "{" + text + "}" if " " in text else text
