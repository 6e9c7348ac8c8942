"""Completes a name behind a word of a condition: `cgroup == /sys` goes on with `tem.slice`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from textual.suggester import Suggester

_PLAIN: Final = re.compile(r"[^\s&|=!<>~()\"'\x00-\x1f\x7f-\U0010ffff]+")
"""What needs no quotes in a condition, and no care on a screen."""


class NameSuggester(Suggester):
    """Shows how the name that is being typed may go on; the right arrow takes it."""

    def __init__(self, words: Sequence[str], names: Callable[[], Iterable[str]]) -> None:
        """Take the words of a condition behind which names stand, and who knows them: paths, by their parts too."""
        super().__init__(use_cache=False, case_sensitive=True)
        self._begun = re.compile(rf"(?:^|[\s&|(!])(?:{'|'.join(map(re.escape, words))})\s*(?:==|!=|~)\s*(\S+)$")
        self._names = names

    async def get_suggestion(self, value: str) -> str | None:
        """The whole line, gone on with; None: nothing is known that does."""
        begun = self._begun.search(value)
        if begun is None:
            return None
        names = sorted(name for name in self._names() if _PLAIN.fullmatch(name))
        every = [*names, *(part for name in names for part in name.split("/"))]
        found = next((name for name in every if name.startswith(begun[1]) and name != begun[1]), None)
        return None if found is None else value + found[len(begun[1]) :]
