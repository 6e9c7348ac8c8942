"""Quote text for YAML, with the same meaning in YAML 1.1 and 1.2, as printable ASCII."""

from __future__ import annotations

import re

_LINES = re.compile(r"[!-~][ -~]*(?:\n[ -~]*)*\n\Z")


def quoted(text: str) -> str:
    """Return a scalar in double quotes. Raises ValueError for bytes that are not UTF-8."""
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
    """Return a literal block for text in lines, else a quoted scalar, to be written after its key.

    Args:
        text: lines, each with its newline. A text with characters that are not printable ASCII, or whose first line
            is empty or begins with a space, is quoted.
        indent: indentation of the lines; more than that of the key.
    """
    if not _LINES.match(text) or text.endswith("\n\n"):
        return quoted(text)
    margin = " " * indent
    return "|\n" + "\n".join(f"{margin}{line}" if line else "" for line in text[:-1].split("\n"))
