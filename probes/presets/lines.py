"""Find the line of a key in a TOML text: the parser checks the text, but returns no positions."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TABLE = re.compile(r"\s*+\[++\s*+([^\]]++)\]++\s*+(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
_LONG = re.compile(r'"""|' + r"'''")
_INLINE = re.compile(r"""(?:[{,]\s*)([A-Za-z0-9_-]+|"[^"]*"|'[^']*')\s*=""")


def line_of(text: str, path: Sequence[str]) -> int:
    """Return the line of a key, from 1, by its path of keys; if it isn't found, that of the innermost table.

    Args:
        text: the text that the parser accepted.
        path: keys from the outermost, as `("parameters", "pid", "tpye")`.
    """
    wanted, best, within = tuple(path), (0, 1), ""
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        quotes = _LONG.findall(line)
        if within:
            within = "" if within in quotes else within
            continue
        if match := _TABLE.match(line):
            table = _split(match[1].strip())
            best = _better(best, wanted, table, number)
        elif match := _KEY.match(line):
            key = (*table, *_split(match[1].strip()))
            best = _better(best, wanted, key, number)
            for inner in _INLINE.findall(line[match.end() :]):
                best = _better(best, wanted, (*key, inner.strip("\"'")), number)
        if len(quotes) == 1:
            within = quotes[0]
    return best[1]


def _better(best: tuple[int, int], wanted: tuple[str, ...], key: tuple[str, ...], number: int) -> tuple[int, int]:
    """Return the better of two matches: the key with the longer common path to `wanted`; of equals the first."""
    depth = len(key) if wanted[: len(key)] == key else 0
    return (depth, number) if depth > best[0] else best


def _split(key: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in key.split("."))
