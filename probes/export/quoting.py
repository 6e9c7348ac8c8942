"""The doors to other languages: nothing of a probe reaches the text of an export unquoted.

A probe's text is foreign: its names, paths, filters and strings may hold anything. What is made here is printable
ASCII, so that looking at an export is safe too.
"""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[ -~]*\Z")


def encoded(text: str) -> bytes:
    """The bytes behind a text; names of files may hold what is no UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def is_plain(text: str) -> bool:
    """Whether it is printable ASCII in one line."""
    return _PLAIN.match(text) is not None


def one_line(text: str) -> str:
    """A text for a comment that ends with its line: what is not printable ASCII is escaped."""
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}" for byte in encoded(text))


def in_c_comment(text: str) -> str:
    """As `one_line`, and it neither ends nor begins a comment of C."""
    return re.sub(r"(?<=\*)(?=/)|(?<=/)(?=\*)", r"\\", one_line(text))


def sh_word(text: str) -> str:
    """One word of POSIX sh that stands for `text`. Raises ValueError for NUL, which no word can hold.

    What is not printable is built by printf when the script runs.
    """
    if "\0" in text:
        raise ValueError("a word of a shell cannot hold NUL")
    body = text.rstrip("\n")
    ends = text[len(body) :]  # a command substitution would take them away
    if is_plain(body):
        return _single(text)
    data = "".join(chr(b) if 0x20 <= b < 0x7F and b != 0x5C else f"\\0{b:03o}" for b in encoded(body))
    return f'"$(printf %b {_single(data)})"' + (_single(ends) if ends else "")


def _single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def sh_parts(text: str, name: re.Pattern[str], variable: str) -> str:
    """As `sh_word`, with a variable of the shell in the place of each match.

    Args:
        text: the text.
        name: what is replaced.
        variable: name of the variable.
    """
    made, at = "", 0
    for match in name.finditer(text):
        if match.start() > at:
            made += sh_word(text[at : match.start()])
        made += f'"${variable}"'
        at = match.end()
    return made + (sh_word(text[at:]) if at < len(text) or not made else "")
