"""Definitions of `perf probe` as probes: `NAME=FUNC@FILE+OFF%return ARG…`."""

from __future__ import annotations

import re
from typing import Final

from probes.translation.translated import NOT_TRANSLATED, Translation

_POINT: Final = re.compile(
    r"(?:(?P<event>[\w:/]++)=)?(?P<function>[\w.]++)(?:@(?P<file>[^\s+%:;]++))?"
    r"(?:(?P<offset>\+(?:0x[0-9a-fA-F]++|[0-9]++))|(?P<line>:[0-9]++)|(?P<pattern>;\S++))?(?P<exit>%return)?"
)
_VARIABLES: Final = {"$vars": "$$args", "$params": "$$args"}


def is_definition(text: str) -> bool:
    """Return whether a text is one by itself, and nothing of ours: `mine=vfs_read count`, `vfs_read@fs/x.c`."""
    words = text.split()
    found = _POINT.fullmatch(words[0]) if words else None
    return found is not None and bool(found["event"] or found["file"] or found["pattern"])


def translated(definition: str, program: str = "") -> Translation:
    """Translate one definition; `program`: what stood behind `-x`."""
    first, *arguments = definition.split() or [""]
    found = _POINT.fullmatch(first)
    if found is None:
        return Translation("perf probe", left_out=(f"{NOT_TRANSLATED}{definition}",))
    left = []
    if found["line"] or found["pattern"]:
        left.append(f"{NOT_TRANSLATED}{found['line'] or found['pattern']} (a line of the source; +OFFSET is a place)")
        return Translation("perf probe", left_out=tuple(left))
    if found["file"]:
        left.append(f"left out: @{found['file']} (another function of this name may be meant)")
    if "$vars" in arguments:
        left.append("$vars: arguments only, local variables are not known")
    event = (found["event"] or "").replace(":", "/")
    place = f"{program}:{found['function']}" if program else found["function"]
    words = [f"p:{event}" if event else "p", f"{place}{found['offset'] or ''}{found['exit'] or ''}"]
    words += [_VARIABLES.get(word, word) for word in arguments]
    return Translation("perf probe", (" ".join(words),), left_out=tuple(left))
