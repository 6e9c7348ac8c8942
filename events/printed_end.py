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
        """Whether `is_whole` can tell."""
        last = texts[-1] + 1 if texts else 0
        self._before: list[tuple[str, str]] = []
        """Literals up to the last string, without quotes, each with that of the string behind it, if any."""
        for number, (literal, behind) in enumerate(pairwise(literals[: last + 1])):
            quote = literal[-1:] if number in texts and literal[-1:] in ('"', "'") else ""
            quote = quote if behind.startswith(quote) else ""
            start = 1 if self._before and self._before[-1][1] else 0
            self._before.append((literal[start : len(literal) - len(quote)], quote))
        self._behind = literals[last:]
        """Literals from there on, between which are numbers."""
        if self._before and self._before[-1][1]:
            self._behind[0] = self._behind[0][1:]
        self._behind[-1] = self._behind[-1].rstrip("\n")

    def may_end(self, line: str) -> bool:
        """Whether a text may end with a line that ends so."""
        return line.endswith((self._behind[-1].rpartition("\n")[2], _FAULT))

    def is_whole(self, body: str) -> bool:
        """Whether the text of an event, without its name, ends here."""
        at = 0
        for literal, _ in self._before:
            at = body.find(literal, at)
            if at < 0:
                return False
            at += len(literal)
        quote = self._before[-1][1] if self._before else ""
        if not body.endswith(self._behind[-1]):
            return False
        end = len(body)
        for literal in reversed(self._behind):
            found = body.rfind(literal, at, end)
            if found < 0 or "\n" in body[found + len(literal) : end]:  # no number has a line's end in it
                return False
            end = found
        return not quote or body[at:end] == _FAULT or (end - at > 1 and body[at] == body[end - 1] == quote)


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
