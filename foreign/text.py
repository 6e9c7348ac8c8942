"""Read text, lines and numbers from outside, with bounds on count and length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from foreign.refusal import InputRefusal

MOST_DIGITS = 40
"""Maximum digits of a number; 2^128 has 39. (`int` raises ValueError for more than 4300.)"""


LONGEST_LINE = 4096
"""Maximum characters of a line of a list: names, which have some hundreds (KSYM_NAME_LEN is 512)."""


def without_surrogates(text: str) -> str:
    r"""Return a text that every Unicode encoding can represent: lone surrogates become `\udcNN`."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def encode_text(text: str) -> bytes:
    """Return the bytes that a text was decoded from or stands for; lone surrogates that stand for no byte are encoded
    too.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate that does not stand for a byte
        return text.encode("utf-8", "surrogatepass")


def lines_of(text: str, source: str, most: int) -> list[str]:
    """Return the lines of a text without their newlines; as in files of the kernel, only newlines end a line.

    Raises:
        InputRefusal: there are more than `most` lines, or one is longer than `LONGEST_LINE`.
    """
    number = text.count("\n")
    if number > most:
        raise InputRefusal(source, f"{number} lines", f"{most}")
    found = text.split("\n")
    if not found[-1]:
        found.pop()
    longest = max(map(len, found), default=0)
    if longest > LONGEST_LINE:
        raise InputRefusal(source, f"a line of {longest} characters", f"{LONGEST_LINE}")
    return found


def lines_from(stream: TextIO, source: str, longest: int, most: int) -> Iterator[str]:
    """Yield the lines of a stream without their newlines, each when it is there.

    Raises:
        InputRefusal: a line has more than `longest` characters, or there are more than `most` lines.
    """
    number = 0
    while line := stream.readline(longest + 2):
        number += 1
        if number > most:
            raise InputRefusal(source, "more lines", f"{most}")
        line = line.removesuffix("\n")
        if len(line) > longest:
            raise InputRefusal(source, f"line {number} has more characters", f"{longest}")
        yield line


def whole_number(text: str, base: int = 10) -> int | None:
    """Parse an unsigned number of at most MOST_DIGITS ASCII digits (base 10 or 16); None: the text is no such
    number.
    """
    if not 0 < len(text) <= MOST_DIGITS or not text.isascii() or not text.isalnum():
        return None
    try:
        return int(text, base)
    except ValueError:
        return None
