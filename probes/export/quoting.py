"""Quote text for other languages: no text of a probe reaches an export unquoted.

A probe's text is foreign: its names, paths, filters and strings may have any characters. The functions return
printable ASCII, so that displaying an export is safe too.
"""

from __future__ import annotations

import re

_BARE = re.compile(r"[A-Za-z0-9_./:-]*")
_PLAIN = re.compile(r"[ -~]*\Z")


def encoded(text: str) -> bytes:
    """Return the bytes of a text; file names may have bytes that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def is_plain(text: str) -> bool:
    """Return whether a text is printable ASCII in a single line."""
    return _PLAIN.match(text) is not None


def one_line(text: str) -> str:
    """Return a text for a comment that ends with its line: all but printable ASCII is escaped."""
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}" for byte in encoded(text))


def in_c_comment(text: str) -> str:
    """Return a text as `one_line` does, which neither ends nor begins a C comment."""
    return re.sub(r"(?<=\*)(?=/)|(?<=/)(?=\*)", r"\\", one_line(text))


def sh_word(text: str) -> str:
    """Return a word of POSIX sh that expands to `text`. Raises ValueError for NUL, which no word can have.

    Unprintable bytes are made by printf when the script runs.
    """
    if "\0" in text:
        raise ValueError("a word of a shell cannot hold NUL")
    body = text.rstrip("\n")
    ends = text[len(body) :]  # a command substitution would remove trailing newlines
    if is_plain(body):
        return _single(text)
    data = "".join(chr(b) if 0x20 <= b < 0x7F and b != 0x5C else f"\\0{b:03o}" for b in encoded(body))
    return f'"$(printf %b {_single(data)})"' + (_single(ends) if ends else "")


def _single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def sh_parts(text: str, name: re.Pattern[str], variable: str) -> str:
    """Return a word as `sh_word` does, with a shell variable in place of each match.

    Args:
        text: the text.
        name: pattern for the parts to replace.
        variable: name of the variable.
    """
    word, at = "", 0
    for match in name.finditer(text):
        word += _bare(text[at : match.start()]) + f'"${variable}"'
        at = match.end()
    return word + _bare(text[at:]) or "''"


def _bare(text: str) -> str:
    """Return a part of a word, without quotes where it needs none."""
    return text if _BARE.fullmatch(text) else sh_word(text)
