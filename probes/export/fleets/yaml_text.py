"""Text in YAML, so that it stays what it is: read by YAML 1.1 as by 1.2, and printable ASCII itself."""

from __future__ import annotations

import re

_LINES = re.compile(r"[!-~][ -~]*(?:\n[ -~]*)*\n\Z")


def quoted(text: str) -> str:
    """A scalar in double quotes. Raises ValueError for what is no text (a byte that is no UTF-8)."""
    text.encode()  # UnicodeEncodeError is a ValueError
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    code = ord(char)
    if char in '"\\':
        return f"\\{char}"
    if 0x20 <= code < 0x7F:
        return char
    if char == "\n":
        return "\\n"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def block(text: str, indent: int) -> str:
    """A text of lines as it is read by people, else in quotes; stands behind its key.

    Args:
        text: ends with the end of its last line; a first line that is empty or begins with a space, and what is not
            printable ASCII, make that it is quoted.
        indent: of the lines: more than that of the key.
    """
    if not _LINES.match(text) or text.endswith("\n\n"):
        return quoted(text)
    margin = " " * indent
    return "|\n" + "\n".join(f"{margin}{line}" if line else "" for line in text[:-1].split("\n"))
