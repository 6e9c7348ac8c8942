"""Let only such output of a command pass to the terminal emulator as that handles: see `OutputFilter`.

pyte raises errors at sequences with too many parameters or other digits than those of ASCII, keeps titles of any
length, and appends combining characters to one cell without end.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from typing import Final

from wcwidth import wcwidth

_PLAIN: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f]++")
_PASSED: Final = frozenset("\a\b\t\n\v\f\r")
_SEQUENCE: Final = re.compile(r"\x1b(?:\[([0-?]*+)([ -/]*+)([@-~])|([\]PX^_])|[ -/]++[0-~]|([0-Z\\-~]))")
_BEGIN: Final = re.compile(r"\x1b(?:\[[0-?]*+[ -/]*+|[ -/]*+)\Z")
"""Sequence whose end has not come yet."""
_MOST_WAITING: Final = 64
"""Characters of a sequence whose end has not come yet; a longer one is dropped up to its end."""
_PARAMETERS: Final = re.compile(r"\d{0,4}(?:;\d{0,4})*+", re.ASCII)
_MOST_PARAMETERS: Final = {
    **dict.fromkeys("@ABCDEFGJKLMPXade`gnc", 1),
    **dict.fromkeys("Hfr", 2),
    **dict.fromkeys("hlm", 16),
}
"""Most parameters by the final character of a sequence that passes."""
_MODES: Final = frozenset({"4", "20"})
_PRIVATE_MODES: Final = frozenset({"1", "7", "25", "47", "1047", "1049", "2004"})
"""Modes that pass: keys of the cursor, wrapping, cursor, the other screen, marks around what is pasted.

Not those that change the number of columns (3), the colours of everything (5) and the origin (6).
"""
_SINGLE: Final = frozenset("78DEHMc")
"""Characters behind ESC that pass: save and restore the cursor, move it, tab stops, reset."""
_STRING_END: Final = re.compile(r"[\a\x18\x1a\x9c]|\x1b\\")
_CSI_END: Final = re.compile(r"[@-~]")


class OutputFilter:
    """Filter of one stream of output: text, line ends, colours, cursor; strings (titles, clipboard) are dropped."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        """Beginning of a sequence whose end has not come yet."""
        self._dropped_to: re.Pattern[str] | None = None
        """End up to which everything is dropped; None: nothing is."""

    def feed(self, data: bytes) -> str:
        """Return the text that passes of some more output; no longer than what was given by now."""
        text, self._rest = self._rest + self._decoder.decode(data), ""
        passed: list[str] = []
        at = 0
        while at < len(text):
            if self._dropped_to is not None:
                at = self._drop(text, at)
            elif found := _PLAIN.match(text, at):
                passed.append(visible(found[0]))
                at = found.end()
            elif text[at] == "\x1b":
                at = self._take_sequence(text, at, passed)
            else:
                passed.append(text[at] if text[at] in _PASSED else "")
                at += 1
        return "".join(passed)

    def _drop(self, text: str, at: int) -> int:
        """Return the place behind what is dropped."""
        end = self._dropped_to.search(text, at) if self._dropped_to is not None else None
        if end is not None:
            self._dropped_to = None
            return end.end()
        if text.endswith("\x1b"):
            self._rest = "\x1b"
        return len(text)

    def _take_sequence(self, text: str, at: int, passed: list[str]) -> int:
        """Take the sequence at a place, if it passes; return the place behind it."""
        if found := _SEQUENCE.match(text, at):
            parameters, between, final, string, single = found.groups()
            if string:
                self._dropped_to = _STRING_END
            elif single in _SINGLE or (final and not between and _passes(parameters, final)):
                passed.append(found[0])
            return found.end()
        if _BEGIN.match(text, at):
            if len(text) - at > _MOST_WAITING:
                self._dropped_to = _CSI_END
            else:
                self._rest = text[at:]
            return len(text)
        return at + 1


def _passes(parameters: str, final: str) -> bool:
    is_private = parameters.startswith("?")
    if is_private:
        parameters = parameters[1:]
    if final not in _MOST_PARAMETERS or not _PARAMETERS.fullmatch(parameters):
        return False
    values = parameters.split(";")
    if final in "hl":
        modes = _PRIVATE_MODES if is_private else _MODES
        return len(values) <= _MOST_PARAMETERS[final] and modes.issuperset(values)
    return not is_private and len(values) <= _MOST_PARAMETERS[final]


def visible(text: str) -> str:
    """Return the characters of a text that take columns, composed where they can be."""
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFC", text)
    return "".join(char if char.isprintable() and wcwidth(char) > 0 else "" for char in composed)
