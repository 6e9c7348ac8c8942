"""Patterns of `~` as the kernel's filters have them: lib/glob.c, and `!` in front for what is not like the rest.

`?` is one byte, `*` any number of them, `[a-z]` and `[!a-z]` one of a class, a backslash takes the meaning from the
sign behind it; a bracket that nothing closes is itself (filter_parse_regex in kernel/trace/trace_events_filter.c).
"""

from __future__ import annotations

import re
from typing import Final

_ANY: Final = b"[^\\0]"
_NONE: Final = b"(?!)"


class Glob:
    """One pattern; matches whole texts, in a time that grows with their length times that of the pattern."""

    def __init__(self, pattern: str) -> None:
        """Take a pattern as it is typed; a NUL in it ends it."""
        self.negated = pattern.startswith("!")
        """Whether it matches what is not like it."""
        raw = pattern[self.negated :].encode("utf-8", "surrogatepass").split(b"\0", 1)[0]
        first, *others = _segments(raw)
        self._first, self._others = first, others

    def matches(self, text: str) -> bool:
        """Return whether a text is like the pattern, byte by byte of its UTF-8."""
        return self._is_like(text.encode("utf-8", "surrogatepass")) != self.negated

    def _is_like(self, raw: bytes) -> bool:
        if not self._others:
            return self._first.fullmatch(raw) is not None
        begin = self._first.match(raw)
        if begin is None:
            return False
        at = begin.end()
        # The first place for each piece is the best: what `*` stands for takes what is left over.
        for piece in self._others[:-1]:
            found = piece.search(raw, at)
            if found is None:
                return False
            at = found.end()
        last = self._others[-1]
        size = _length(last)
        return len(raw) - at >= size and last.fullmatch(raw, len(raw) - size) is not None


def _length(piece: re.Pattern[bytes]) -> int:
    """Return the number of bytes that a piece matches: each of its groups is one."""
    return piece.groups


def _segments(pattern: bytes) -> list[re.Pattern[bytes]]:
    """Return what stands between the `*`, each as an expression of fixed length with a group for each byte."""
    pieces: list[list[bytes]] = [[]]
    at = 0
    while at < len(pattern):
        sign = pattern[at : at + 1]
        at += 1
        if sign == b"*":
            pieces.append([])
            continue
        if sign == b"?":
            pieces[-1].append(_ANY)
        elif sign == b"[" and (found := _class(pattern, at)) is not None:
            expression, at = found
            pieces[-1].append(expression)
        elif sign == b"\\":
            if at < len(pattern):  # one at the end escapes nothing
                pieces[-1].append(re.escape(pattern[at : at + 1]))
            at += 1
        else:
            pieces[-1].append(re.escape(sign))
    return [re.compile(b"".join(b"(" + one + b")" for one in piece), re.DOTALL) for piece in pieces]


def _class(pattern: bytes, at: int) -> tuple[bytes, int] | None:
    """Read a class behind its `[`: the expression, and the place behind its `]`; None: nothing closes it."""
    inverted = pattern[at : at + 1] == b"!"
    at += inverted
    taken: set[int] = set()
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
        taken.update(range(low, high + 1))
        if pattern[at : at + 1] == b"]":
            break
    if inverted:
        taken = set(range(1, 256)) - taken
    signs = b"".join(b"\\x%02x" % byte for byte in sorted(taken - {0}))
    return (b"[" + signs + b"]" if signs else _NONE + b"."), at + 1
