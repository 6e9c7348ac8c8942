"""Text, lines and numbers from outside, with bounds on how many and how long."""

from __future__ import annotations

from foreign.refusal import InputRefusal

MOST_DIGITS = 40
"""Digits of a number; 2^128 has 39. (`int` refuses more than 4300 by ValueError.)"""


def without_surrogates(text: str) -> str:
    r"""Return a text that every encoding of Unicode can hold: lone surrogates become `\udcNN`."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def encoded(text: str) -> bytes:
    """Return the bytes that a text was read from or stands for; those of any text, though no name may have them."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # the half of a pair that no byte was read as
        return text.encode("utf-8", "surrogatepass")


def lines_of(text: str, source: str, most: int) -> list[str]:
    """Return the lines of a text, each without its newline, like a file's of the kernel: only newlines end them.

    Raises InputRefusal for more than `most` lines.
    """
    number = text.count("\n")
    if number > most:
        raise InputRefusal(source, f"{number} lines", f"{most}")
    found = text.split("\n")
    if not found[-1]:
        found.pop()
    return found


def whole_number(text: str, base: int = 10) -> int | None:
    """Return an unsigned number of at most MOST_DIGITS ASCII digits (base 10 or 16); None: it is none."""
    if not 0 < len(text) <= MOST_DIGITS or not text.isascii() or not text.isalnum():
        return None
    try:
        return int(text, base)
    except ValueError:
        return None
