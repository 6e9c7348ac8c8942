"""The functions of a target as the list of them asks for them: found by words, described when drawn."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from events.names.function_choice import is_typed_place
from widgets.fields.function_rows import Attachable
from widgets.highlight import has_words

# The first paint shows the functions; what searches them is imported after it.
if TYPE_CHECKING:
    from btf.search import Search
    from kernel.connection.kernel_info import KernelInfo

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

    def __init__(
        self,
        names: Sequence[str],
        describe: Callable[[str], Attachable] = lambda _: NOT_YET,
        info: KernelInfo | None = None,
    ) -> None:
        """Take the functions of a target.

        Args:
            names: sorted names.
            describe: returns the row of one.
            info: of the target, for places that stand for several functions; None: it is not open yet.
        """
        self.names = names
        self._describe = describe
        self._info = info
        self._known: dict[str, Attachable] = {}
        self._meant: tuple[str, Sequence[str]] = ("", ())

    def find(self, query: str) -> tuple[Sequence[int], int]:
        """Return the indices of the names that fit, best first and at most MOST_FOUND, and their number."""
        if self.is_place(query):
            names = self._names_meant(query.strip())
            return [bisect_left(self.names, name) for name in names], len(names)
        found = self._search.find(query, MOST_FOUND)
        return found.indices, found.total

    def is_place(self, query: str) -> bool:
        """Return whether a text is a place that stands for several functions: `vfs_*`, `[struct file *]`."""
        return self._info is not None and is_typed_place(query)

    def matching(self, query: str) -> tuple[str, Sequence[str]]:
        """Return a place for all functions that a text fits, empty where there is none, and their names."""
        query = query.strip()
        if self.is_place(query):
            return query, self._names_meant(query)
        found = self._search.find(query).indices
        names = [name for index in found if has_words(name := self.names[index], query)]
        return self._words_place(query, names), names

    def traceable(self, name: str) -> bool:
        """Return whether a probe on several functions can be on a function."""
        from probes.functions.function_index import index_of

        return self._info is None or bool(index_of(self._info.facts).count(name))

    def _words_place(self, query: str, names: Sequence[str]) -> str:
        from probes.functions.function_marks import words_place

        return words_place(query, names, lambda choice: self._names_meant(choice.text)) if self._info else ""

    def _names_meant(self, text: str) -> Sequence[str]:
        """Return the functions that a place stands for; none where it is not complete, or its file can't be read."""
        if self._meant[0] != text or text.startswith("@"):
            self._meant = text, self._look_up(text)
        return self._meant[1]

    def _look_up(self, text: str) -> Sequence[str]:
        from events.names.function_choice import ChoiceError
        from foreign.refusal import InputRefusal
        from kernel.connection.function_list import read_function_list
        from probes.functions.chosen_functions import names_meant

        if self._info is None:
            return ()
        try:
            return names_meant(text, self.names, self._info.btf, self._info.facts, read_function_list)
        except (ChoiceError, InputRefusal):
            return ()

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
