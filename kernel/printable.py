"""Escape foreign text for a terminal: each non-printable character as a C escape sequence."""

from __future__ import annotations


def plain(text: str) -> str:
    """Return text with each control character but newline escaped; applied to all foreign text shown on a
    terminal.
    """
    if text.isprintable():
        return text
    return "".join(ch if ch.isprintable() or ch == "\n" else f"\\x{ord(ch):02x}" for ch in text)
