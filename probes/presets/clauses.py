"""The clauses of a filter: what stands between its `&&`, where those mean something: outside of quotes."""

from __future__ import annotations

import re

_AND = re.compile(r"""("[^"]*"|'[^']*')|\s*&&\s*""")
_QUOTED = re.compile(r""""[^"]*"|'[^']*'""")


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
