"""Foreign text for a terminal: whatever is no printable character stands there as C would write it."""

from __future__ import annotations


def plain(text: str) -> str:
    """Return text without control characters; foreign strings pass here on their way to a terminal."""
    if text.isprintable():
        return text
    return "".join(ch if ch.isprintable() or ch == "\n" else f"\\x{ord(ch):02x}" for ch in text)
