"""Names that a shell offers while a command is typed: functions and events of the target that was opened last.

`probewright completion names KIND TEXT` prints them. No target is opened, and no more is imported than to read them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Final

from events.names.place_kinds import TRACEPOINT_LETTER
from kernel.connection import name_cache

FUNCTIONS, PLACES, SPECIFICATIONS = "functions", "places", "specs"
"""Kinds of words: a function; a function, tracepoint or event; a specification."""
_LEAST: Final = 2
"""Letters of a name before any are offered."""
_MOST: Final = 2_000
"""Names that are offered at the most."""
_HEAD: Final = re.compile(r"((?:[fpr]\d*|[te])(?::\S*)?|on)\s+")
"""Beginning of a specification, before its place."""


def candidates(kind: str, typed: str, names: bytes) -> list[str]:
    """Return the words that begin with the text typed, sorted.

    Args:
        kind: FUNCTIONS, PLACES or SPECIFICATIONS.
        typed: the word as far as it is typed.
        names: as `kernel.connection.name_cache.load` returns them.
    """
    head, letter = "", ""
    if kind == SPECIFICATIONS:
        match = _HEAD.match(typed)
        if match is None:
            return []
        head, letter = match[0], "e" if match[1] == "on" else match[1][0]
    text = typed[len(head) :]
    if len(text) < _LEAST or not text.isascii():
        return []
    found = _beginning(f"{TRACEPOINT_LETTER}{text}" if letter == "t" else text, names)
    if letter == "e":
        found = [name for name in found if "/" in name]
    elif letter != "t" and kind != PLACES:
        found = [name for name in found if "/" not in name and " " not in name]
    # With the last one what all have in common stays the same, which is what a shell writes.
    shown = found if len(found) <= _MOST else [*found[: _MOST - 1], found[-1]]
    return [head + name.removeprefix(TRACEPOINT_LETTER) if letter else name for name in shown]


def _beginning(text: str, names: bytes) -> list[str]:
    """Return the names that begin with a text."""
    wanted = b"\n" + text.encode("ascii")
    first = names.find(wanted)
    if first < 0:
        return []
    end = names.index(b"\n", names.rfind(wanted) + 1)
    return names[first + 1 : end].decode("ascii").split("\n")


def print_names(words: Sequence[str]) -> int:
    """Print the words that a shell offers, one a line; `words`: the kind and the text typed."""
    kind, typed = [*words, "", ""][:2]
    found = candidates(kind, typed, name_cache.load())
    sys.stdout.write("".join(f"{word}\n" for word in found))
    return 0
