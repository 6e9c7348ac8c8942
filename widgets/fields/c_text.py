"""Format C declarations for the screen: line breaks and a style for each token."""

from __future__ import annotations

import re
from typing import Final

from textual.content import Content

from widgets.safe_text import safe, width

_TOKEN: Final = re.compile(r"[A-Za-z_$]\w*|\d\w*|\.\.\.|\s+|.")
_PLAIN_WORDS: Final = re.compile(
    r"(struct|union|enum|const|volatile|restrict|unsigned|signed|static|inline|extern|__user|__rcu|__percpu|__iomem"
    r"|void|char|short|int|long|float|double|bool|_Bool|\w+_t)$"
)
"""Keywords, and names that can only be types."""


def wrap(prototype: str, columns: int) -> list[str]:
    """Break a prototype after commas, with parameters aligned after the bracket if they fit there.

    A list of names, before a bracket or without one, is broken after its commas as well.
    """
    text = safe(prototype)
    if width(text) <= columns:
        return [text]
    head, bracket, rest = text.partition("(")
    heads = _split(head) or [""]
    heads[-1] += head[len(head.rstrip()) :] + bracket
    parts = _split(rest)
    fits = len(heads) == 1 and width(head) + 1 + max(map(width, parts), default=0) <= columns
    indent = width(head) + 1 if fits else 4
    pieces = [*heads, *parts]
    lines = pieces[:1]
    for part in pieces[1:]:
        joined = f"{lines[-1]}{'' if lines[-1].endswith('(') else ' '}{part}"
        if width(joined) <= columns or not lines[-1].strip():
            lines[-1] = joined
        else:
            lines.append(" " * indent + part)
    return lines


def highlighted(line: str, function: str, parameters: frozenset[str] = frozenset()) -> Content:
    """Return one line of C with the function and the parameters emphasized."""
    parts: list[tuple[str, str]] = []
    before = ""
    for token in _TOKEN.findall(line):
        tag = before in ("struct", "union", "enum")
        parts.append((token, "" if tag else _look(token, function, parameters)))
        before = before if token.isspace() else token
    return Content.assemble(*parts)


def parameter_names(prototype: str) -> tuple[str, ...]:
    """Return the names of the parameters, in order, without unnamed ones."""
    _, _, rest = safe(prototype).partition("(")
    names = []
    for part in _split(rest):
        found = re.search(r"\(\s*\*\s*(\w+)", part) or re.search(r"[\s*](\w+)\s*(?:\[[^]]*\]\s*)*[,)]*;?$", part)
        if found and not _PLAIN_WORDS.match(found[1]):
            names.append(found[1])
    return tuple(names)


def _look(token: str, function: str, parameters: frozenset[str]) -> str:
    if token == function:
        return "bold"
    if token in parameters:
        return "$text-accent"
    if _PLAIN_WORDS.match(token):
        return "$text-primary"
    return ""


def _split(parameters: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for place, char in enumerate(parameters):
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(parameters[start : place + 1].strip())
            start = place + 1
    parts.append(parameters[start:].strip())
    return [part for part in parts if part]
