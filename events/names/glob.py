"""Match the patterns of `~` as the kernel's filters do: lib/glob.c, and a leading `!` for negation.

`?` is one byte, `*` any number of bytes, `[a-z]` and `[!a-z]` one byte of a class, a backslash escapes the next byte;
an unclosed bracket is literal (filter_parse_regex in kernel/trace/trace_events_filter.c).
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

_ANY: Final = b"[^\\0]"
_NONE: Final = b"(?!)"


class Glob:
    """Pattern that matches whole texts, in time proportional to their length times that of the pattern."""

    def __init__(self, pattern: str) -> None:
        """Take a pattern as typed; it ends at its first NUL."""
        self.negated = pattern.startswith("!")
        """True if the pattern matches texts that are unlike it (leading `!`)."""
        self._pattern = pattern[self.negated :]

    @cached_property
    def _pieces(self) -> tuple[re.Pattern[bytes], list[re.Pattern[bytes]]]:
        """The first part and the others; compiled when a text is matched, as most names of a list never are."""
        first, *others = _segments(self._pattern.encode("utf-8", "surrogatepass").split(b"\0", 1)[0])
        return first, others

    def matches(self, text: str) -> bool:
        """Return whether a text matches the pattern, byte by byte in UTF-8."""
        return self._is_like(text.encode("utf-8", "surrogatepass")) != self.negated

    def _is_like(self, raw: bytes) -> bool:
        first, others = self._pieces
        if not others:
            return first.fullmatch(raw) is not None
        begin = first.match(raw)
        if begin is None:
            return False
        at = begin.end()
        # The earliest match of each piece is sufficient: a `*` can absorb whatever is left.
        for piece in others[:-1]:
            found = piece.search(raw, at)
            if found is None:
                return False
            at = found.end()
        last = others[-1]
        size = _length(last)
        return len(raw) - at >= size and last.fullmatch(raw, len(raw) - size) is not None


def _length(piece: re.Pattern[bytes]) -> int:
    """Return the number of bytes that a piece matches: one per group."""
    return piece.groups


def _segments(pattern: bytes) -> list[re.Pattern[bytes]]:
    """Return the parts between the `*`, each as an expression of fixed length with one group per byte."""
    pieces: list[list[bytes]] = [[]]
    at = 0
    may_close = True  # a bracket after one that is not closed is not closed, either
    while at < len(pattern):
        sign = pattern[at : at + 1]
        at += 1
        if sign == b"*":
            pieces.append([])
            continue
        if sign == b"?":
            pieces[-1].append(_ANY)
        elif sign == b"[" and may_close:
            found = _class(pattern, at)
            may_close = found is not None
            expression, at = found or (re.escape(sign), at)
            pieces[-1].append(expression)
        elif sign == b"\\":
            if at < len(pattern):  # a backslash at the end escapes nothing
                pieces[-1].append(re.escape(pattern[at : at + 1]))
            at += 1
        else:
            pieces[-1].append(re.escape(sign))
    return [re.compile(b"".join(b"(" + byte + b")" for byte in piece), re.DOTALL) for piece in pieces]


def _class(pattern: bytes, at: int) -> tuple[bytes, int] | None:
    """Parse a class after its `[`. Return the expression and the index after the `]`; None: the class is not
    closed.
    """
    inverted = pattern[at : at + 1] == b"!"
    at += inverted
    members: set[int] = set()
    while True:
        if at >= len(pattern):
            return None
        low = high = pattern[at]
        at += 1
        if pattern[at : at + 1] == b"-" and pattern[at + 1 : at + 2] != b"]":
            if at + 1 >= len(pattern):
                return None
            high = pattern[at + 1]
            at += 2
        members.update(range(low, high + 1))
        if pattern[at : at + 1] == b"]":
            break
    if inverted:
        members = set(range(1, 256)) - members
    signs = b"".join(b"\\x%02x" % byte for byte in sorted(members - {0}))
    return (b"[" + signs + b"]" if signs else _NONE + b"."), at + 1
