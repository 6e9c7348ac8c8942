"""Letters of a name that match a query, and a rank of the match."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from widgets.rows import Piece

_BETWEEN_WORDS: Final = re.compile(r"[^\w.$]+")
"""Separator of words, as in `btf.search`."""
_PROBE: Final = re.compile(r"(?:[ft]|[pr]\d*|e|on)(?::\S*)?\s+\S|(?:s|lat):\S")

SCATTERED: Final = 3
"""First part of the rank of a name that has the letters of a query in their order, but not together."""


def matched(name: str, query: str) -> list[tuple[int, int]]:
    """Return the runs (start, end) of matching letters, in order.

    Each blank-separated word of the query counts by itself: as a whole if it occurs, else letter by letter.
    """
    text = name.lower()
    letters: set[int] = set()
    for word in query.lower().split():
        start = text.find(word)
        letters.update(range(start, start + len(word)) if start >= 0 else _chain(text, word))
    runs: list[tuple[int, int]] = []
    for place in sorted(letters):
        if runs and runs[-1][1] == place:
            runs[-1] = (runs[-1][0], place + 1)
        else:
            runs.append((place, place + 1))
    return runs


def rank(name: str, query: str) -> tuple[int, int] | None:
    """Return a sort key for matches, best first: start of the name, of a word, inside, letters in order; then the
    shorter.

    None: no match. An empty query matches everything alike.
    """
    text, query = name.lower(), query.lower()
    if not query:
        return (0, 0)
    place = text.find(query)
    if place == 0:
        return (0, len(text))
    if place > 0:
        return (1 if f"_{query}" in text else 2, len(text))
    return (SCATTERED, len(text)) if _chain(text, query) else None


def has_words(name: str, query: str) -> bool:
    """Return True if a name contains all words of a query, in any case."""
    low = name.lower()
    return all(word in low for word in _BETWEEN_WORDS.split(query.lower()))


def is_typed_probe(text: str) -> bool:
    """Return True if the text in a search for a function is a whole probe: `f vfs_read count`."""
    from probes.sources.source import is_source  # not before the first picture
    from probes.translation.translate import translate

    return _PROBE.match(text) is not None or (" " in text and is_source(text)) or translate(text) is not None


def highlighted(
    text: str, runs: Sequence[tuple[int, int]], look: str = "", columns: int | None = None
) -> Iterator[Piece]:
    """Yield safe text in pieces, with the runs marked; text after `columns` characters is left out."""
    end = len(text) if columns is None else min(columns, len(text))
    at = 0
    for start, stop in runs:
        start, stop = min(start, end), min(stop, end)
        if start > at:
            yield Piece(text[at:start], look)
        if stop > start:
            yield Piece(text[start:stop], "match")
        at = max(at, stop)
    if at < end:
        yield Piece(text[at:end], look)


def _chain(text: str, word: str) -> list[int]:
    places: list[int] = []
    at = -1
    for letter in word:
        at = text.find(letter, at + 1)
        if at < 0:
            return []
        places.append(at)
    return places
