r"""The only door for foreign text to the screen.

Names of functions, tasks and files, strings from a kernel and lines from a remote machine are hostile: they may
hold escape sequences (a process can set its own name to some), markup, bidi overrides, invalid UTF-8. What comes out
of `safe` is one line of printable characters; everything else stands there as C would write it: `\x1b`, `\t`,
`\u202e`. It is plain text: hand it to `rich.text.Text`, `textual.content.Content` or a `Segment`, never to a parser
of markup.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from rich.cells import cell_len, chop_cells
from textual.content import Content

ELLIPSIS: Final = "…"
LIMIT: Final = 4096
"""Characters of one foreign text that are looked at; no screen is wider."""

_NAMED: Final = {"\t": r"\t", "\n": r"\n", "\r": r"\r", "\0": r"\0"}
_BLANK_LETTERS: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters to Unicode, nothing to the eye."""
_MARKS_PER_LETTER: Final = 2


def safe(raw: bytes | bytearray | memoryview | str, limit: int = LIMIT) -> str:
    """One line of printable text for any bytes or text; at most `limit` characters of it are read."""
    if not isinstance(raw, str):
        raw = bytes(raw[: limit + 1] if len(raw) > limit else raw).decode("utf-8", "surrogateescape")
    cut_off = len(raw) > limit
    text = raw[:limit] if cut_off else raw
    if not (text.isascii() and text.isprintable()):
        text = _escaped(text)
    return text + ELLIPSIS if cut_off else text


def safe_lines(raw: bytes | str, limit: int = 1000) -> list[str]:
    """Foreign text of several lines: only line feeds break it, each line is `safe`."""
    text = raw.decode("utf-8", "surrogateescape") if isinstance(raw, bytes) else raw
    lines = text.replace("\r\n", "\n").split("\n", limit)
    more = lines[limit:]
    return [safe(line) for line in lines[:limit]] + ([ELLIPSIS] if more else [])


def safe_content(raw: bytes | str, style: str = "") -> Content:
    """Foreign text for a widget that takes `Content`; nothing in it is read as markup."""
    return Content.styled(safe(raw), style)


def width(text: str) -> int:
    """Columns that safe text takes."""
    return len(text) if text.isascii() else cell_len(text)


def stand_ins(text: str) -> str:
    """Foreign text that is edited: a letter for each of its letters, so that the cursor stands where it should.

    What `safe` writes as C would is one sign here: the picture of a control character (U+2400 and on), or U+FFFD.
    """
    if text.isascii() and text.isprintable():
        return text
    out: list[str] = []
    marks = _MARKS_PER_LETTER
    for char in text:
        is_mark = bool(unicodedata.combining(char)) or unicodedata.category(char) in ("Mn", "Me")
        is_letter = char.isprintable() and char not in _BLANK_LETTERS
        marks = marks + 1 if is_mark else 0 if is_letter and char != " " else _MARKS_PER_LETTER
        if marks <= _MARKS_PER_LETTER if is_mark else is_letter:
            out.append(char)
        else:
            out.append(chr(0x2400 + ord(char)) if ord(char) < 0x20 else "\ufffd")
    return "".join(out)


def cut(text: str, columns: int) -> str:
    """Safe text in at most that many columns; where something was cut away the last one is an ellipsis."""
    if len(text) <= columns and width(text) <= columns:
        return text
    if columns < 1:
        return ""
    if text.isascii():
        return text[: columns - 1] + ELLIPSIS
    kept = chop_cells(text, columns - 1)[0] if columns > 1 else ""
    return kept + ELLIPSIS if width(kept) < columns else ELLIPSIS


def cut_middle(text: str, columns: int) -> str:
    """As `cut`, but what is too long loses its middle, `do_sys_…__exit`, where it has no wide letters."""
    if len(text) <= columns or not text.isascii() or columns < 3:
        return cut(text, columns)
    end = (columns - 1) // 2
    return text[: columns - 1 - end] + ELLIPSIS + text[-end:]


def fit(text: str, columns: int, right: bool = False) -> str:
    """Safe text in exactly that many columns: cut, or filled with blanks."""
    text = cut(text, columns)
    blanks = " " * (columns - width(text))
    return blanks + text if right else text + blanks


def _escaped(text: str) -> str:
    out: list[str] = []
    marks = _MARKS_PER_LETTER  # a mark at the start would join whatever the screen has before it
    for char in text:
        if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me"):
            marks += 1
            out.append(char if marks <= _MARKS_PER_LETTER else _escape(char))
        elif char.isprintable() and char not in _BLANK_LETTERS:
            marks = 0 if char != " " else _MARKS_PER_LETTER
            out.append(char)
        else:
            marks = _MARKS_PER_LETTER
            out.append(_escape(char))
    return "".join(out)


def _escape(char: str) -> str:
    code = ord(char)
    if char in _NAMED:
        return _NAMED[char]
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8 (surrogateescape)
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
