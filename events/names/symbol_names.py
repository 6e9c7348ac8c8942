"""Store the names of symbols as one text: a third of the memory of separate strings, of which a kernel has
200,000.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import overload


class SymbolNames(Sequence[str]):
    """Names in the order of their symbols; converted to strings on access."""

    def __init__(self, names: Sequence[str]) -> None:
        """Take names, which must not contain newlines."""
        self._text = "\n".join(("", *names, ""))
        self._starts = array("I", accumulate((len(name) + 1 for name in names), initial=1))
        """Offset of each name in the text, and the offset after the last one."""

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __iter__(self) -> Iterator[str]:
        return iter(self._text[1:-1].split("\n") if len(self) else ())

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        at = range(len(self))[at]
        return self._text[self._starts[at] : self._starts[at + 1] - 1]

    def index(self, name: str, start: int = 0, stop: int | None = None) -> int:
        """Return the first index of a name, as `list.index` does.

        Raises:
            ValueError: there is none.
        """
        first, after, _ = slice(start, stop).indices(len(self))
        found = self._text.find(f"\n{name}\n", self._starts[first] - 1, self._starts[max(first, after)])
        if found < 0 or "\n" in name:
            raise ValueError(name)
        return bisect_left(self._starts, found + 1)
