"""Split text of another tool's language outside of quotes and brackets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_PAIRS: Final = {"(": ")", "[": "]", "{": "}"}


def pieces(text: str, separator: str) -> Iterator[str]:
    """Yield the parts of a text between separators (`;`, `&&`) outside of quotes and brackets."""
    begin = 0
    for at, depth in _outside_quotes(text):
        if depth == 0 and at >= begin and text.startswith(separator, at):
            yield text[begin:at]
            begin = at + len(separator)
    yield text[begin:]


def closing(text: str, at: int) -> int:
    """Return the index of the bracket that closes the one at `at`; the end of the text where none does."""
    depth = 0
    for place, _ in _outside_quotes(text):
        if place < at:
            continue
        depth += (text[place] in _PAIRS) - (text[place] in _PAIRS.values())
        if depth == 0:
            return place
    return len(text)


def opening(text: str, sign: str) -> int:
    """Return the first index of a character outside of quotes; -1: there is none."""
    return next((at for at, _ in _outside_quotes(text) if text[at] == sign), -1)


def _outside_quotes(text: str) -> Iterator[tuple[int, int]]:
    """Yield the indices outside of quotes, each with the number of open brackets."""
    depth, quote, at = 0, "", 0
    while at < len(text):
        sign = text[at]
        if quote:
            at += sign == "\\"  # an escaped character closes no quote
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        else:
            depth -= sign in _PAIRS.values()
            yield at, depth
            depth += sign in _PAIRS
        at += 1
