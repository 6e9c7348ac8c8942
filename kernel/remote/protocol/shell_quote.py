"""Quote text for a remote shell; all text on a command line there passes through here."""

from __future__ import annotations

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+=:,./@~")


def quote(text: str) -> str:
    """Return one word of POSIX sh that stands for `text`. Raises ValueError for NUL, which no word can hold."""
    if "\0" in text:
        raise ValueError("a word of a shell cannot hold NUL")
    return "'" + text.replace("'", "'\\''") + "'"


def escape(data: bytes) -> str:
    """Return printable ASCII which `printf %b` turns into `data`, NUL included; still to be quoted."""
    return "".join(chr(byte) if byte in _PLAIN else f"\\0{byte:03o}" for byte in data)
