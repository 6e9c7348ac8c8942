r"""The only way for foreign text to the screen.

Names of functions, tasks and files, strings from a kernel and lines from a remote machine are hostile: they may hold
escape sequences (a process can set its own name to some), markup, bidi overrides, invalid UTF-8. The result of `safe`
is one line of printable characters; everything else is written as in C: `\x1b`, `\t`, `\u202e`. It is plain text:
hand it to `rich.text.Text`, `textual.content.Content` or a `Segment`, never to a parser of markup.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from rich.cells import cell_len, chop_cells

ELLIPSIS: Final = "…"
LIMIT: Final = 4096
"""Characters read of one foreign text; no screen is wider."""

_NAMED: Final = {"\t": r"\t", "\n": r"\n", "\r": r"\r", "\0": r"\0"}
_BLANK_LETTERS: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Characters that Unicode counts as letters, but that are invisible."""
_PART_END: Final = re.compile(r"[,;] |(?<=\w\w): ")
"""End of a part of a note; the colon behind the letter of a key ends none."""
_WORD_END: Final = re.compile(" ")
_MARKS_PER_LETTER: Final = 2


def safe(raw: bytes | bytearray | memoryview | str, limit: int = LIMIT) -> str:
    """Return one line of printable text for any bytes or text; at most `limit` characters are read."""
    if not isinstance(raw, str):
        raw = bytes(raw[: limit + 1] if len(raw) > limit else raw).decode("utf-8", "surrogateescape")
    cut_off = len(raw) > limit
    text = raw[:limit] if cut_off else raw
    if not (text.isascii() and text.isprintable()):
        text = _escaped(text)
    return text + ELLIPSIS if cut_off else text


def safe_lines(raw: bytes | str, limit: int = 1000) -> list[str]:
    """Return foreign text of several lines: only line feeds break it, each line is `safe`."""
    text = raw.decode("utf-8", "surrogateescape") if isinstance(raw, bytes) else raw
    lines = text.replace("\r\n", "\n").split("\n", limit)
    more = lines[limit:]
    return [safe(line) for line in lines[:limit]] + ([ELLIPSIS] if more else [])


def width(text: str) -> int:
    """Return the columns that safe text takes."""
    return len(text) if text.isascii() else cell_len(text)


def stand_ins(text: str) -> str:
    """Return foreign text for editing: one character for each of its characters, so that the cursor's place is right.

    Characters that `safe` escapes are one symbol here: the picture of a control character (U+2400 and on), or U+FFFD.
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
    """Return safe text in at most `columns` columns; if it is cut, the last one is an ellipsis."""
    if width(text) <= columns:
        return text
    if columns < 1:
        return ""
    if text.isascii():
        return text[: columns - 1] + ELLIPSIS
    kept = chop_cells(text, columns - 1)[0] if columns > 1 else ""
    return kept + ELLIPSIS if width(kept) < columns else ELLIPSIS


def cut_parts(text: str, columns: int) -> str:
    """Return safe text as `cut` does, but whole parts of it from the beginning (they end at commas, semicolons and
    colons), or at least whole words, then an ellipsis.
    """
    if width(text) <= columns:
        return text
    for ends in (_PART_END, _WORD_END):
        found = [text[: match.start()] for match in ends.finditer(text)]
        if kept := next((part for part in reversed(found) if part and width(part) + 2 <= columns), ""):
            return f"{kept} {ELLIPSIS}"
    return cut(text, columns)


def cut_middle(text: str, columns: int) -> str:
    """Return text as `cut` does, but cut in its middle, `do_sys_…__exit`, if it has no wide letters."""
    if len(text) <= columns or not text.isascii() or columns < 3:
        return cut(text, columns)
    end = (columns - 1) // 2
    return text[: columns - 1 - end] + ELLIPSIS + text[-end:]


def fit(text: str, columns: int, right: bool = False) -> str:
    """Return safe text in exactly `columns` columns: cut, or filled with blanks."""
    text = cut(text, columns)
    blanks = " " * (columns - width(text))
    return blanks + text if right else text + blanks


def _escaped(text: str) -> str:
    out: list[str] = []
    marks = _MARKS_PER_LETTER  # a mark at the start would combine with whatever the screen has before it
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
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8 (surrogateescape)
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
