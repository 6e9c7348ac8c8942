"""The kernel's ways with text: words of a command, numbers, names (lib/kstrtox.c, lib/argv_split.c)."""

from __future__ import annotations

import re
from typing import NamedTuple

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_GROUP = re.compile(r"[A-Za-z_-][A-Za-z0-9_-]*\Z")
_HEX = re.compile(r"0[xX][0-9a-fA-F]+")
_WORD = re.compile(r"[^ \t\n\v\f\r\xa0]+")
_BLANK = re.compile(r"""("[^"]*"|'[^']*')|\s+""")
LETTERS = "A-Za-z\xc0-\xd6\xd8-\xf6\xf8-\xff"
"""What isalpha() takes, for a class of a regular expression: the kernel's letters are those of Latin-1."""
_LETTER = re.compile(f"[{LETTERS}_]")
_DIGITS = {8: "01234567", 10: "0123456789", 16: "0123456789abcdefABCDEF"}

LONG_MAX = (1 << 63) - 1
ULONG_MAX = (1 << 64) - 1
UINT_MAX = (1 << 32) - 1


class Word(NamedTuple):
    """One word of a line."""

    text: str
    start: int
    """Where it begins in the line."""


def split(line: str) -> list[Word]:
    """Split a line like tracefs does: everything from the first `#` goes, then words between white space."""
    return [Word(m.group(), m.start()) for m in _WORD.finditer(line.split("#", 1)[0])]


def collapsed(text: str) -> str:
    """With one space for white space, and none around it; what is in quotes is compared as it is."""
    return _BLANK.sub(lambda m: m[1] or " ", text).strip()


def joined(words: list[str]) -> str:
    """Give the command as error_log shows it."""
    return " ".join(words)


def _whole(digits: str, base: int) -> int:
    """Return the number of any count of digits, 0 of none: of more than 4,300 decimal ones `int` takes none."""
    number = 0
    for at in range(0, len(digits), 4000):
        part = digits[at : at + 4000]
        number = number * base ** len(part) + int(part, base)
    return number


def _parse(text: str, base: int) -> int | None:
    """Read all of a number without a sign; None where it isn't one."""
    text = text.removesuffix("\n")
    if base == 0:
        base = 16 if _HEX.match(text) else 8 if text.startswith("0") else 10
    if base == 16 and text[:2].lower() == "0x":
        text = text[2:]
    if not text or any(c not in _DIGITS[base] for c in text):
        return None
    return _whole(text, base)


def kstrtoul(text: str, base: int = 0, limit: int = ULONG_MAX) -> int | None:
    """Read an unsigned number: decimal, `0x…` or octal `0…`, a leading `+` allowed; None: not a number or too big."""
    value = _parse(text.removeprefix("+"), base)
    return None if value is None or value > limit else value


def kstrtol(text: str, base: int = 0) -> int | None:
    """Read a signed number; None: not a number or out of range."""
    if text.startswith("-"):
        value = _parse(text[1:], base)
        return None if value is None or value > LONG_MAX + 1 else -value
    value = _parse(text.removeprefix("+"), base)
    return None if value is None or value > LONG_MAX else value


def simple_strtoul(text: str, base: int = 0, saturates: bool = False) -> tuple[int, str]:
    """Read the number a text begins with (0 where there is none); gives it and the rest.

    Of one too big for 64 bits the kernel keeps the lower ones; newer ones keep the biggest number (`saturates`).
    """
    if base == 0:
        base = 16 if _HEX.match(text) else 8 if text.startswith("0") else 10
    start = 2 if base == 16 and text[:2].lower() == "0x" else 0
    end = start
    while end < len(text) and text[end] in _DIGITS[base]:
        end += 1
    number = _whole(text[start:end], base)
    return min(number, ULONG_MAX) if saturates else number & ULONG_MAX, text[end:]


def is_pattern(name: str) -> bool:
    """Whether a name stands for all functions that fit it (`glob`)."""
    return any(letter in name for letter in "*?[")


def glob(pattern: str) -> re.Pattern[str]:
    r"""Make of a pattern what matches the whole of a name (lib/glob.c): `*`, `?`, `[a-z]`, `[!a-z]`, `\\`."""
    made, at = "", 0
    while at < len(pattern):
        char, at = pattern[at], at + 1
        span = re.match(r"(!?)(.(?:-[^\]]|[^\]])*)\]", pattern[at:]) if char == "[" else None
        if char == "*":
            made += ".*"
        elif char == "?":
            made += "."
        elif span is not None:
            inverted, inside = span.groups()
            spans = re.findall(r"(.)-([^\]])|(.)", inside)
            chars = "".join(f"{re.escape(a)}-{re.escape(b)}" if a <= b else "" for a, b, c in spans if not c)
            chars += "".join(re.escape(c) for _, _, c in spans)
            made += f"[{'^' if inverted else ''}{chars}]" if chars else ("." if inverted else "(?!)")
            at += span.end()
        else:
            if char == "\\":
                char, at = pattern[at : at + 1], at + 1
            made += re.escape(char)
    return re.compile(made + r"\Z")


def begins_name(text: str) -> bool:
    """Whether the first character may begin a name of BTF."""
    return _LETTER.match(text) is not None


def is_identifier(name: str) -> bool:
    """Whether it is a C identifier (is_good_name in the kernel)."""
    return _IDENTIFIER.match(name) is not None


def is_group(name: str) -> bool:
    """Whether it is good for a group, which may hold `-` too."""
    return _GROUP.match(name) is not None
