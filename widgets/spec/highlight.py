"""Styles for the parts of a specification: letter, place, when, name, variable, type, filter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_WORD: Final = re.compile(r"\S+")
_FILTER: Final = re.compile(r"(?<=\s)if(?=\s|$)")
_HEAD: Final = re.compile(r"(?P<letter>[a-z]\d*)(?P<event>:\S*)?")
_PLACE: Final = re.compile(r"(?P<place>[^%]+)?(?P<when>%\S*)?")
_FETCHARG: Final = re.compile(r"(?P<name>\w*=)?(?P<variable>[$%]\$?\w*+\*?+)?(?P<path>[^:]*+)(?P<type>:\S*)?")
_CONDITION: Final = re.compile(r"""(?P<value>"[^"]*"?|'[^']*'?|\b\d\w*)|(?P<sign>[=!<>~&|]+)|(?P<path>\w+)""")
_LOOKS: Final = {
    "letter": "bold $text-accent",
    "event": "$text-muted",
    "place": "bold",
    "when": "$text-accent",
    "name": "$text-muted",
    "variable": "$text-primary",
    "path": "",
    "type": "$text-success",
    "value": "$text-warning",
    "sign": "$text-accent",
}
COMMENT: Final = "$text-muted"


class StyledSpan(NamedTuple):
    """Run of a text with its style."""

    start: int
    end: int
    style: str


def spans(text: str) -> list[StyledSpan]:
    """Return the runs that have a style, in order."""
    command, hash_, _ = text.partition("#")
    found = list(_of_command(command))
    return [*found, StyledSpan(len(command), len(text), COMMENT)] if hash_ else found


def _of_command(text: str) -> Iterator[StyledSpan]:
    condition = _FILTER.search(text)
    end = condition.start() if condition else len(text)
    for number, word in enumerate(_WORD.finditer(text, 0, end)):
        pattern = (_HEAD, _PLACE)[number] if number < 2 else _FETCHARG
        match = pattern.match(text, word.start(), word.end())
        if match is not None:
            yield from _groups(match)
    if condition is not None:
        yield StyledSpan(condition.start(), condition.end(), "bold $text-accent")
        for match in _CONDITION.finditer(text, condition.end()):
            yield from _groups(match)


def _groups(match: re.Match[str]) -> Iterator[StyledSpan]:
    for name, style in _LOOKS.items():
        if style and name in match.re.groupindex and match[name]:
            yield StyledSpan(match.start(name), match.end(name), style)
