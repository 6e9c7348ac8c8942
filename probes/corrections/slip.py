"""Split a refused text into its parts for a correction."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from probes.verdict import Refusal

FILTER: Final = " if "


class Slip(NamedTuple):
    """A refused text, split into its parts."""

    text: str
    error: Refusal
    column: int
    """Column of the error, in characters."""

    @property
    def head(self) -> str:
        """The first word."""
        return self.text.partition(" ")[0]

    @property
    def name(self) -> str:
        """Event name in the first word, with the colon before it."""
        _, colon, name = self.head.partition(":")
        return colon + name

    @property
    def rest(self) -> str:
        """Text after the first word."""
        return self.text.partition(" ")[2]

    @property
    def place(self) -> str:
        """The second word."""
        return self.rest.partition(" ")[0]

    @property
    def trailing_text(self) -> str:
        """Text after the second word, with the blank before it."""
        _, blank, arguments = self.rest.partition(" ")
        return blank + arguments

    def placed(self, place: str, head: str = "") -> str:
        """Return the text with another second word and, if given, another first one."""
        return f"{head or self.head} {place}{self.trailing_text}"

    @property
    def span(self) -> tuple[int, int]:
        """Begin and end of the word at the column."""
        begin = self.text.rfind(" ", 0, self.column) + 1
        end = self.text.find(" ", self.column)
        return begin, end if end >= 0 else len(self.text)

    @property
    def parts(self) -> tuple[str, str, str]:
        """Parts of the word at the column: `name=`, expression, `:type`."""
        word = self.text[slice(*self.span)]
        name_match = re.match(r"[^=\"]*=", word)
        name, body = (name_match[0], word[name_match.end() :]) if name_match else ("", word)
        expression, colon, kind = body.partition(":")
        return name, expression, colon + kind

    def worded(self, word: str) -> str:
        """Return the text with another word at the column; an empty word is removed with its blank."""
        begin, end = self.span
        text = self.text[:begin] + word + self.text[end:]
        return text if word else f"{text[:begin].rstrip()} {text[begin:].lstrip()}".rstrip()

    def conditioned(self, change: Callable[[str], str]) -> str:
        """Return the text with its condition changed."""
        before, word, condition = self.text.partition(FILTER)  # the first ` if ` as parsed; later ones are in quotes
        return f"{before}{word}{change(condition)}"

    @property
    def condition(self) -> str:
        """Text after the `if`."""
        return self.text.partition(FILTER)[2]


def identifier(text: str) -> str:
    """Return a C identifier made from a text."""
    name = re.sub(r"\W", "_", text)
    return f"_{name}" if name[:1].isdigit() else name
