"""Detect the end of an event's text when a string in it may contain line breaks.

The kernel prints strings unescaped (`%s` between quotes, PRINT_TYPE_FUNC_NAME(string) in kernel/trace/trace_probe.c),
including line breaks. The format defines the literals around each string; so the text of an event ends with a line
after which all literals were found. A string that contains exactly these cannot be distinguished from two events.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from events.format import EventFormat

MAX_EVENT_BYTES: Final = 1 << 14
"""Maximum bytes of an event's text: a kernel has room for two pages (TRACE_SEQ_BUFFER_SIZE) of 4 KB."""
_FAULT: Final = "(fault)"
_SYNTHETIC: Final = "synthetic"
_SIZED: Final = "%.*s"
"""Conversion for the strings of synthetic events."""


class PrintedEnd:
    """Literals of an event's format that determine the end of its text."""

    def __init__(self, fmt: EventFormat) -> None:
        """Take the format of the event."""
        literals, specs = _parts(fmt)
        texts = [number for number, spec in enumerate(specs) if spec[-1:] in ("s", "c")]
        self.has_texts = bool(texts)
        """True if the text may continue after a line end."""
        self.is_known = not any("%" in literal for literal in literals)
        """True if `PrintedText` can detect the end."""
        last = texts[-1] + 1 if texts else 0
        before: list[tuple[str, str]] = []
        for number, (literal, following) in enumerate(pairwise(literals[: last + 1])):
            quote = literal[-1:] if number in texts and literal[-1:] in ('"', "'") else ""
            quote = quote if following.startswith(quote) else ""
            start = 1 if before and before[-1][1] else 0
            before.append((literal[start : len(literal) - len(quote)], quote))
        self.before = tuple(literal for literal, _ in before)
        """Literals up to the last string, without quotes."""
        self.quote = before[-1][1] if before else ""
        """Quote around the last string; empty: none."""
        self.trailing_literals = literals[last:]
        """Literals after the last string, with only numbers in between."""
        if self.quote:
            self.trailing_literals[0] = self.trailing_literals[0][1:]
        self.trailing_literals[-1] = self.trailing_literals[-1].rstrip("\n")
        self.lines_behind = 2 + sum(literal.count("\n") for literal in self.trailing_literals)
        """Number of lines spanned by these literals, plus one."""


class PrintedText:
    """Text of one event, collected line by line; keeps only the part that is needed to detect the end."""

    def __init__(self, end: PrintedEnd) -> None:
        """Take the literals of the event's format."""
        self._end = end
        self._text: str | None = None
        """Last part of the text, without the event's name."""
        self._start = 0
        """Number of characters before that part."""
        self._found = 0
        """Number of literals found before the last string."""
        self._at = 0
        """Position at which to search the next literal, or after the last one."""
        self._first_char = ""
        """Character at the start of the last string; empty: not received yet."""

    def add(self, line: str) -> bool:
        """Append a line, without its end; return whether the text is complete with it."""
        self._text = line if self._text is None else f"{self._text}\n{line}"
        return self._is_whole(self._text) if self._find_literals(self._text) else False

    def _find_literals(self, text: str) -> bool:
        """Continue the search for the literals before the last string; return whether all have been found."""
        before = self._end.before
        for literal in before[self._found :]:
            found = text.find(literal, self._at - self._start)
            if found < 0:
                self._at = max(self._at, self._start + len(text) - len(literal) + 1)
                self._drop_before(text, self._at - self._start)
                return False
            self._at = self._start + found + len(literal)
            self._found += 1
        return True

    def _is_whole(self, text: str) -> bool:
        at = self._at - self._start
        self._first_char = self._first_char or text[at : at + 1]
        cut = len(text)
        for _ in range(self._end.lines_behind):
            cut = text.rfind("\n", 0, max(cut, 0))
        self._drop_before(text, cut + 1)
        quote, following = self._end.quote, self._end.trailing_literals
        if not text.endswith(following[-1]):
            return False
        end = len(text)
        for literal in reversed(following):
            found = text.rfind(literal, max(at, 0), end)
            if found < 0 or "\n" in text[found + len(literal) : end]:  # a number contains no line break
                return False
            end = found
        if not quote or (at >= 0 and text[at:end] == _FAULT):
            return True
        return end - at > 1 and self._first_char == text[end - 1] == quote

    def _drop_before(self, text: str, cut: int) -> None:
        """Drop the text before a position."""
        cut = min(max(cut, 0), len(text))
        self._text = text[cut:]
        self._start += cut


def _parts(fmt: EventFormat) -> tuple[list[str], list[str]]:
    """Return the literals of a format, and the conversions between them."""
    literals: list[str] = []
    specs: list[str] = []
    printing = fmt.printing
    if printing is None:
        return ["%"], []
    for literal, spec in zip(
        printing.literals, [*(conversion.spec for conversion in printing.conversions), ""], strict=True
    ):
        if fmt.system == _SYNTHETIC:  # print_synth_event() prints a blank where its format also has a comma
            literal = literal.replace(", ", " ")
        first, *others = literal.split(_SIZED)
        literals += [first, *others]
        specs += ["s"] * len(others) + [spec]
    return literals, specs[:-1]
