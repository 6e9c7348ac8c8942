"""Match the patterns of `~` as the kernel's filters do: lib/glob.c, and a leading `!` for negation.

`?` is one byte, `*` any number of bytes, `[a-z]` and `[!a-z]` one byte of a class, a backslash escapes the next byte;
an unclosed bracket is literal (filter_parse_regex in kernel/trace/trace_events_filter.c).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
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

    @classmethod
    def plain(cls, pattern: str) -> Glob:
        """Return a pattern in which a leading `!` has no meaning of its own."""
        return cls(f"\\{pattern}" if pattern.startswith("!") else pattern)

    @cached_property
    def _expression(self) -> re.Pattern[bytes]:
        """The pattern for `re`; compiled when a text is matched, as most names of a list never are.

        The earliest match of each part is sufficient, as a `*` can absorb whatever is left: none is tried twice.
        """
        first, *others = _parts(self._pattern.encode("utf-8", "surrogatepass").split(b"\0", 1)[0])
        rest = b""
        if others:
            rest = b"".join(b"(?>.*?" + part + b")" for part in others[:-1] if part) + b".*" + others[-1]
        return re.compile(first + rest, re.DOTALL)

    def matches(self, text: str) -> bool:
        """Return whether a text matches the pattern, byte by byte in UTF-8."""
        return (self._expression.fullmatch(text.encode("utf-8", "surrogatepass")) is not None) != self.negated

    def among(self, texts: Iterable[str]) -> list[str]:
        """Return the texts that match the pattern, in their order."""
        like, negated = self._expression.fullmatch, self.negated
        return [text for text in texts if (like(text.encode("utf-8", "surrogatepass")) is not None) != negated]


def negated_pattern(pattern: str) -> str:
    """Return the pattern that matches all texts which another one does not match."""
    if not pattern.startswith("!"):
        return f"!{pattern}"
    like = pattern[1:]
    return f"\\{like}" if like.startswith("!") else like


def _parts(pattern: bytes) -> list[bytes]:
    """Return the parts between the `*`, each as an expression of fixed length."""
    parts: list[list[bytes]] = [[]]
    at = 0
    may_close = True  # a bracket after one that is not closed is not closed, either
    while at < len(pattern):
        sign = pattern[at : at + 1]
        at += 1
        if sign == b"*":
            parts.append([])
            continue
        if sign == b"?":
            parts[-1].append(_ANY)
        elif sign == b"[" and may_close:
            found = _class(pattern, at)
            may_close = found is not None
            expression, at = found or (re.escape(sign), at)
            parts[-1].append(expression)
        elif sign == b"\\":
            if at < len(pattern):  # a backslash at the end escapes nothing
                parts[-1].append(re.escape(pattern[at : at + 1]))
            at += 1
        else:
            parts[-1].append(re.escape(sign))
    return [b"".join(part) for part in parts]


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
