"""In which line of a TOML text a key stands: the parser checks the text, but keeps no places."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TABLE = re.compile(r"\s*+\[++\s*+([^\]]++)\]++\s*+(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
_LONG = re.compile(r'"""|' + r"'''")
_INLINE = re.compile(r"""(?:[{,]\s*)([A-Za-z0-9_-]+|"[^"]*"|'[^']*')\s*=""")


def line_of(text: str, path: Sequence[str]) -> int:
    """Line of a key, from 1, by the keys that lead to it; that of what it is within where it can't be told.

    Args:
        text: that the parser took.
        path: `("parameters", "pid", "tpye")`.
    """
    wanted, best, within = tuple(path), (0, 1), ""
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        quotes = _LONG.findall(line)
        if within:
            within = "" if within in quotes else within
            continue
        if found := _TABLE.match(line):
            table = _split(found[1].strip())
            best = _better(best, wanted, table, number)
        elif found := _KEY.match(line):
            key = (*table, *_split(found[1].strip()))
            best = _better(best, wanted, key, number)
            for inner in _INLINE.findall(line[found.end() :]):
                best = _better(best, wanted, (*key, inner.strip("\"'")), number)
        if len(quotes) == 1:
            within = quotes[0]
    return best[1]


def _better(best: tuple[int, int], wanted: tuple[str, ...], found: tuple[str, ...], number: int) -> tuple[int, int]:
    """The deepest key that is on the way to what is wanted, the first of those."""
    fits = len(found) if wanted[: len(found)] == found else 0
    return (fits, number) if fits > best[0] else best


def _split(key: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in key.split("."))
