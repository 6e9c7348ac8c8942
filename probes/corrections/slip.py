"""A refused text, taken apart where something in it is to be put right."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from probes.verdict import Refusal

FILTER: Final = " if "


class Slip(NamedTuple):
    """A refused text, taken apart."""

    text: str
    error: Refusal
    column: int
    """Of the error, in characters."""

    @property
    def head(self) -> str:
        """The first word."""
        return self.text.partition(" ")[0]

    @property
    def rest(self) -> str:
        """What follows the first word."""
        return self.text.partition(" ")[2]

    @property
    def place(self) -> str:
        """The second word."""
        return self.rest.partition(" ")[0]

    @property
    def behind(self) -> str:
        """What follows the second word, with the blank in front."""
        _, blank, arguments = self.rest.partition(" ")
        return blank + arguments

    def placed(self, place: str, head: str = "") -> str:
        """The text with another second word, and another first one."""
        return f"{head or self.head} {place}{self.behind}"

    @property
    def span(self) -> tuple[int, int]:
        """Where the word begins and ends that the column is in."""
        begin = self.text.rfind(" ", 0, self.column) + 1
        end = self.text.find(" ", self.column)
        return begin, end if end >= 0 else len(self.text)

    @property
    def parts(self) -> tuple[str, str, str]:
        """That word: `name=`, expression, `:type`."""
        word = self.text[slice(*self.span)]
        named = re.match(r"[^=\"]*=", word)
        name, body = (named[0], word[named.end() :]) if named else ("", word)
        expression, colon, kind = body.partition(":")
        return name, expression, colon + kind

    def worded(self, word: str) -> str:
        """The text with something else in the place of that word; without it where that is nothing."""
        begin, end = self.span
        text = self.text[:begin] + word + self.text[end:]
        return text if word else f"{text[:begin].rstrip()} {text[begin:].lstrip()}".rstrip()

    def conditioned(self, change: Callable[[str], str]) -> str:
        """The text with another condition."""
        before, word, condition = self.text.partition(FILTER)  # the first, as it is read; others stand in quotes
        return f"{before}{word}{change(condition)}"

    @property
    def condition(self) -> str:
        """What stands behind the `if`."""
        return self.text.partition(FILTER)[2]


def identifier(text: str) -> str:
    """Make a name of C of it."""
    name = re.sub(r"\W", "_", text)
    return f"_{name}" if name[:1].isdigit() else name
