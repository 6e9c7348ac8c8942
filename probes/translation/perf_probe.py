"""Translate definitions of `perf probe` to probes: `NAME=FUNC@FILE+OFF%return ARG…`."""

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
    """Return whether a text is perf probe's syntax and not ours: `mine=vfs_read count`, `vfs_read@fs/x.c`."""
    words = text.split()
    match = _POINT.fullmatch(words[0]) if words else None
    return match is not None and bool(match["event"] or match["file"] or match["pattern"])


def translated(definition: str, program: str = "") -> Translation:
    """Translate a definition; `program`: the path after `-x`."""
    first, *arguments = definition.split() or [""]
    match = _POINT.fullmatch(first)
    if match is None:
        return Translation("perf probe", differences=(f"{NOT_TRANSLATED}{definition}",))
    left_out = []
    if match["line"] or match["pattern"]:
        left_out.append(
            f"{NOT_TRANSLATED}{match['line'] or match['pattern']} (a line of the source; +OFFSET is a place)"
        )
        return Translation("perf probe", differences=tuple(left_out))
    if match["file"]:
        left_out.append(f"left out: @{match['file']} (another function of this name may be meant)")
    if "$vars" in arguments:
        left_out.append("$vars: arguments only, local variables are not known")
    event = (match["event"] or "").replace(":", "/")
    place = f"{program}:{match['function']}" if program else match["function"]
    words = [f"p:{event}" if event else "p", f"{place}{match['offset'] or ''}{match['exit'] or ''}"]
    words += [_VARIABLES.get(word, word) for word in arguments]
    return Translation("perf probe", (" ".join(words),), differences=tuple(left_out))
