"""Bytes that a terminal of kind `linux` sends for a key, by Textual's name of it. Pure."""

from __future__ import annotations

import re
from typing import Final

_NAMED: Final = {
    "enter": "\r",
    "tab": "\t",
    "shift+tab": "\x1b[Z",
    "escape": "\x1b",
    "backspace": "\x7f",
    "home": "\x1b[1~",
    "insert": "\x1b[2~",
    "delete": "\x1b[3~",
    "end": "\x1b[4~",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "f10": "\x1b[21~",
    "f11": "\x1b[23~",
    "ctrl+at": "\0",
    "ctrl+space": "\0",
    "ctrl+backslash": "\x1c",
    "ctrl+circumflex_accent": "\x1e",
    "ctrl+underscore": "\x1f",
}
_ARROWS: Final = {"up": "A", "down": "B", "right": "C", "left": "D"}
_CTRL_LETTER: Final = re.compile(r"ctrl\+([a-z])")
_PASTE: Final = "\x1b[200~", "\x1b[201~"


def bytes_of(key: str, character: str | None, *, keys_of_cursor: bool = False) -> bytes:
    """Return the bytes of a key; empty: such a terminal sends none.

    Args:
        key: Textual's name of the key.
        character: character that it writes; None: none.
        keys_of_cursor: the command wants arrow keys as ESC O (mode DECCKM).
    """
    if key in _NAMED:
        return _NAMED[key].encode()
    if key in _ARROWS:
        return f"\x1b{'O' if keys_of_cursor else '['}{_ARROWS[key]}".encode()
    if found := _CTRL_LETTER.fullmatch(key):
        return bytes([ord(found[1]) - 0x60])
    if character is not None and character.isprintable():
        return character.encode("utf-8", "replace")
    return b""


def pasted(text: str, *, marks: bool) -> bytes:
    """Return the bytes of pasted lines; `marks`: the command wants marks around them (mode 2004)."""
    first, last = _PASTE if marks else ("", "")
    return (first + text.replace("\n", "\r") + last).encode("utf-8", "replace")
