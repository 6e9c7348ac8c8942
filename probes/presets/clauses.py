"""The filter of a specification and its clauses: what stands between its `&&`, outside of quotes."""

from __future__ import annotations

import re

_AND = re.compile(r"""("[^"]*"|'[^']*')|(?<!\s)\s*+&&\s*+""")
_QUOTED = re.compile(r""""[^"]*"|'[^']*'""")
_PARTS = re.compile(r"""\$\{[^{}]*\}|"[^"]*"|'[^']*'|[{}]| if """)


def filter_of(text: str) -> tuple[str, str]:
    """A specification without its filter, and the filter; that of a probe in braces is not its own."""
    depth = 0
    for match in _PARTS.finditer(text):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if match[0] == " if " and depth <= 0:
            return text[: match.start()], text[match.end() :]
    return text, ""


def ends_in_filter(text: str) -> bool:
    """Whether a specification that is cut here ends in a filter, be it that of a probe in braces."""
    found = [match[0] for match in _PARTS.finditer(text) if match[0] in ("{", "}", " if ")]
    return found[-1:] == [" if "]


def clauses_of(condition: str) -> list[str]:
    """What stands between the `&&` of a filter, also of those in parentheses."""
    found, at = list[str](), 0
    for match in _AND.finditer(condition):
        if match[1] is None:
            found.append(condition[at : match.start()])
            at = match.end()
    return [*found, condition[at:]]


def can_go(clause: str) -> bool:
    """Whether a filter means the same but for this clause where it is left out."""
    return not re.search(r"[()]|\|\|", _QUOTED.sub("", clause))
