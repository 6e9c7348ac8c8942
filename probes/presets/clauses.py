"""Split a specification from its filter, and a filter into the clauses between its `&&`, outside of quotes."""

from __future__ import annotations

import re

_AND = re.compile(r"""("[^"]*"|'[^']*')|(?<!\s)\s*+&&\s*+""")
_QUOTED = re.compile(r""""[^"]*"|'[^']*'""")
_PARTS = re.compile(r"""\$\{[^{}]*\}|"[^"]*"|'[^']*'|[{}]| if """)


def filter_of(text: str) -> tuple[str, str]:
    """Return a specification without its filter, and the filter; filters of probes in braces stay in place."""
    depth = 0
    for match in _PARTS.finditer(text):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if match[0] == " if " and depth <= 0:
            return text[: match.start()], text[match.end() :]
    return text, ""


def ends_in_filter(text: str) -> bool:
    """Return whether a specification cut off here ends within a filter, its own or that of a probe in braces."""
    tokens = [match[0] for match in _PARTS.finditer(text) if match[0] in ("{", "}", " if ")]
    return tokens[-1:] == [" if "]


def clauses_of(condition: str) -> list[str]:
    """Return the texts between the `&&` of a filter, including those within parentheses."""
    clauses, at = list[str](), 0
    for match in _AND.finditer(condition):
        if match[1] is None:
            clauses.append(condition[at : match.start()])
            at = match.end()
    return [*clauses, condition[at:]]


def is_removable(clause: str) -> bool:
    """Return whether removing a clause leaves the meaning of the filter's other clauses unchanged."""
    return not re.search(r"[()]|\|\|", _QUOTED.sub("", clause))
