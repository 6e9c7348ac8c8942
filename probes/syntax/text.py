"""Parse text as the kernel does: words of a command, numbers, names (lib/kstrtox.c, lib/argv_split.c)."""

from __future__ import annotations

import re
from typing import NamedTuple

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_GROUP = re.compile(r"[A-Za-z_-][A-Za-z0-9_-]*\Z")
_HEX = re.compile(r"0[xX][0-9a-fA-F]+")
_WORD = re.compile(r"[^ \t\n\v\f\r\xa0]+")
_BLANK = re.compile(r"""("[^"]*"|'[^']*')|\s+""")
LETTERS = "A-Za-z\xc0-\xd6\xd8-\xf6\xf8-\xff"
"""Characters that isalpha() accepts, for a character class: the kernel's letters are those of Latin-1."""
_LETTER = re.compile(f"[{LETTERS}_]")
_DIGITS = {8: "01234567", 10: "0123456789", 16: "0123456789abcdefABCDEF"}

LONG_MAX = (1 << 63) - 1
ULONG_MAX = (1 << 64) - 1
UINT_MAX = (1 << 32) - 1


class Word(NamedTuple):
    """Word of a line."""

    text: str
    start: int
    """Column of the line where the word begins."""


def split(line: str) -> list[Word]:
    """Split a line as tracefs does: text from the first `#` is dropped, the rest is split at white space."""
    return [Word(m.group(), m.start()) for m in _WORD.finditer(line.split("#", 1)[0])]


def collapsed(text: str) -> str:
    """Return a text with white space collapsed and stripped; text in quotes is unchanged."""
    return _BLANK.sub(lambda m: m[1] or " ", text).strip()


def joined(words: list[str]) -> str:
    """Return the command as error_log shows it."""
    return " ".join(words)


def _long_number(digits: str, base: int) -> int:
    """Return the number for any count of digits, 0 for none: `int` rejects more than 4,300 decimal digits."""
    number = 0
    for at in range(0, len(digits), 4000):
        part = digits[at : at + 4000]
        number = number * base ** len(part) + int(part, base)
    return number


def _parse(text: str, base: int) -> int | None:
    """Parse a text that is a number without a sign; None: it isn't."""
    text = text.removesuffix("\n")
    if base == 0:
        base = 16 if _HEX.match(text) else 8 if text.startswith("0") else 10
    if base == 16 and text[:2].lower() == "0x":
        text = text[2:]
    if not text or any(c not in _DIGITS[base] for c in text):
        return None
    return _long_number(text, base)


def kstrtoul(text: str, base: int = 0, limit: int = ULONG_MAX) -> int | None:
    """Parse an unsigned number: decimal, `0x…` or octal `0…`, `+` allowed; None: not a number or too large."""
    value = _parse(text.removeprefix("+"), base)
    return None if value is None or value > limit else value


def kstrtol(text: str, base: int = 0) -> int | None:
    """Parse a signed number; None: not a number or out of range."""
    if text.startswith("-"):
        value = _parse(text[1:], base)
        return None if value is None or value > LONG_MAX + 1 else -value
    value = _parse(text.removeprefix("+"), base)
    return None if value is None or value > LONG_MAX else value


def simple_strtoul(text: str, base: int = 0, saturates: bool = False) -> tuple[int, str]:
    """Parse the number at the beginning of a text, 0 if there is none; returns the number and the rest.

    For a number above 64 bits, older kernels keep the low 64 bits and newer ones the largest number (`saturates`).
    """
    if base == 0:
        base = 16 if _HEX.match(text) else 8 if text.startswith("0") else 10
    start = 2 if base == 16 and text[:2].lower() == "0x" else 0
    end = start
    while end < len(text) and text[end] in _DIGITS[base]:
        end += 1
    number = _long_number(text[start:end], base)
    return min(number, ULONG_MAX) if saturates else number & ULONG_MAX, text[end:]


def begins_name(text: str) -> bool:
    """Return whether the first character may begin a name in BTF."""
    return _LETTER.match(text) is not None


def is_identifier(name: str) -> bool:
    """Return whether a name is a C identifier (is_good_name in the kernel)."""
    return _IDENTIFIER.match(name) is not None


def is_group(name: str) -> bool:
    """Return whether a name is valid for a group, which may have `-` too."""
    return _GROUP.match(name) is not None
