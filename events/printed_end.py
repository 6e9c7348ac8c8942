"""The end of an event's text, where a string in it may go on behind a line's end.

The kernel prints strings as they are (`%s` between quotes that are not escaped, PRINT_TYPE_FUNC_NAME(string) in
kernel/trace/trace_probe.c), a line break too. The format says what stands around each; so the text of an event ends
with a line behind which all of that was there. A string that has just that in it can't be told from two events.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from events.format import EventFormat

MOST: Final = 1 << 14
"""Bytes of an event's text: a kernel has room for two pages (TRACE_SEQ_BUFFER_SIZE) of 4 KB."""
_FAULT: Final = "(fault)"
_SYNTHETIC: Final = "synthetic"
_SIZED: Final = "%.*s"
"""Strings of synthetic events."""


class PrintedEnd:
    """Tells of one kind of event whether a text is all of it."""

    def __init__(self, fmt: EventFormat) -> None:
        """Take the format of the event."""
        literals, specs = _parts(fmt)
        texts = [number for number, spec in enumerate(specs) if spec[-1:] in ("s", "c")]
        self.has_texts = bool(texts)
        """Whether its text may go on behind a line's end."""
        self.is_known = not any("%" in literal for literal in literals)
        """Whether `PrintedText` can tell."""
        last = texts[-1] + 1 if texts else 0
        before: list[tuple[str, str]] = []
        for number, (literal, behind) in enumerate(pairwise(literals[: last + 1])):
            quote = literal[-1:] if number in texts and literal[-1:] in ('"', "'") else ""
            quote = quote if behind.startswith(quote) else ""
            start = 1 if before and before[-1][1] else 0
            before.append((literal[start : len(literal) - len(quote)], quote))
        self.before = tuple(literal for literal, _ in before)
        """Literals up to the last string, without quotes."""
        self.quote = before[-1][1] if before else ""
        """What stands around the last string; empty: nothing."""
        self.behind = literals[last:]
        """Literals from there on, between which are numbers."""
        if self.quote:
            self.behind[0] = self.behind[0][1:]
        self.behind[-1] = self.behind[-1].rstrip("\n")
        self.lines_behind = 2 + sum(literal.count("\n") for literal in self.behind)
        """Lines, one more than those in which all these are."""


class PrintedText:
    """The text of one event as its lines come: of those before, no more is looked at than may still tell its end."""

    def __init__(self, end: PrintedEnd) -> None:
        """Take what tells where it ends."""
        self._end = end
        self._text: str | None = None
        """The last part of the text, without the event's name."""
        self._start = 0
        """Characters in front of that part."""
        self._found = 0
        """Number of literals in front of the last string that were found."""
        self._at = 0
        """Where the next is looked for, or behind the last of them."""
        self._opens = ""
        """The character there; empty: it did not come yet."""

    def add(self, line: str) -> bool:
        """Take one more line, without its end; return whether the text is whole with it."""
        self._text = line if self._text is None else f"{self._text}\n{line}"
        return self._is_whole(self._text) if self._finds(self._text) else False

    def _finds(self, text: str) -> bool:
        """Go on looking for the literals in front of the last string; return whether all are there."""
        before = self._end.before
        for literal in before[self._found :]:
            found = text.find(literal, self._at - self._start)
            if found < 0:
                self._at = max(self._at, self._start + len(text) - len(literal) + 1)
                self._keep(text, self._at - self._start)
                return False
            self._at = self._start + found + len(literal)
            self._found += 1
        return True

    def _is_whole(self, text: str) -> bool:
        at = self._at - self._start
        self._opens = self._opens or text[at : at + 1]
        cut = len(text)
        for _ in range(self._end.lines_behind):
            cut = text.rfind("\n", 0, max(cut, 0))
        self._keep(text, cut + 1)
        quote, behind = self._end.quote, self._end.behind
        if not text.endswith(behind[-1]):
            return False
        end = len(text)
        for literal in reversed(behind):
            found = text.rfind(literal, max(at, 0), end)
            if found < 0 or "\n" in text[found + len(literal) : end]:  # no number has a line's end in it
                return False
            end = found
        if not quote or (at >= 0 and text[at:end] == _FAULT):
            return True
        return end - at > 1 and self._opens == text[end - 1] == quote

    def _keep(self, text: str, cut: int) -> None:
        """Let go of what is in front of a place."""
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
    for literal, spec in zip(printing.literals, [*(one.spec for one in printing.conversions), ""], strict=True):
        if fmt.system == _SYNTHETIC:  # print_synth_event() has a blank where its format has a comma too
            literal = literal.replace(", ", " ")
        first, *others = literal.split(_SIZED)
        literals += [first, *others]
        specs += ["s"] * len(others) + [spec]
    return literals, specs[:-1]
