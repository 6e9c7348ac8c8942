"""The one door to a far shell: nothing reaches a command line there unquoted."""

from __future__ import annotations

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+=:,./@~")


def quote(text: str) -> str:
    """One word of POSIX sh that stands for `text`. Raises ValueError for NUL, which no word can hold."""
    if "\0" in text:
        raise ValueError("a word of a shell cannot hold NUL")
    return "'" + text.replace("'", "'\\''") + "'"


def escape(data: bytes) -> str:
    """Text of printable ASCII which `printf %b` turns into `data`, NUL included; still to be quoted."""
    return "".join(chr(byte) if byte in _PLAIN else f"\\0{byte:03o}" for byte in data)
