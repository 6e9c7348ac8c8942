"""The functions of a target as the list of them asks for them: found by words, described when drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from widgets.fields.function_rows import Attachable

# The first paint shows the functions; what searches them is imported after it.
if TYPE_CHECKING:
    from btf.search import Search

MOST_FOUND = 5_000
"""Rows a search gives at the most; nobody scrolls farther, and typing one more letter is quicker."""


class NameOnly(NamedTuple):
    """The row of a function before its kernel is open."""

    module: str = ""
    kinds: tuple[str, ...] = ("…",)
    reason: str = ""
    word: str = ""


NOT_YET = NameOnly()


class Functions:
    """Names, and what is known of each."""

    def __init__(self, names: Sequence[str], describe: Callable[[str], Attachable] = lambda _: NOT_YET) -> None:
        self.names = names
        self._describe = describe
        self._known: dict[str, Attachable] = {}

    def find(self, query: str) -> tuple[Sequence[int], int]:
        """Return the indices of the names that fit, best first and at most MOST_FOUND, and their number."""
        found = self._search.find(query, MOST_FOUND)
        return found.indices, found.total

    def describe(self, name: str) -> Attachable:
        """Return the row of a function in the list."""
        function = self._known.get(name)
        if function is None:
            function = self._known[name] = self._describe(name)
        return function

    def forget(self) -> None:
        """Forget all descriptions: more is known of the kernel now."""
        self._known.clear()

    @cached_property
    def _search(self) -> Search:
        from btf.search import Search

        return Search(self.names)
