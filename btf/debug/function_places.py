"""Look up a BTF's own functions by name: a few queries are answered from the strings, many from a table.

The table of a kernel's names takes 7 MB, too much for a command that looks up three functions.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Sequence, Set
from functools import cached_property

from btf.kinds import MAX_NAME
from foreign.text import encode_text

_FEW = 8
"""Number of queries answered without the table: each takes 2 ms of a kernel, the table 20."""
_MOST = 64
"""Number of strings with the name as suffix above which the table is faster."""


class FunctionPlaces:
    """Positions of FUNCs by their names; duplicates are in file order."""

    def __init__(
        self,
        positions: array[int],
        words: Sequence[int],
        names: Callable[[], list[str]],
        offsets: Callable[[bytes, int], list[int]],
    ) -> None:
        """Take the FUNCs of one BTF.

        Args:
            positions: word index of each FUNC, ascending.
            words: type section; the word at a FUNC's position is the offset of its name.
            names: returns the name of each FUNC.
            offsets: returns the offsets in the strings of some bytes, up to a maximum number.
        """
        self._positions = positions
        self._words = words
        self._names = names
        self._offsets = offsets
        self._asked = 0

    def of(self, name: str) -> Sequence[int]:
        """Return the word index of each FUNC of this name; empty: there is none."""
        if "_first" not in self.__dict__ and self._asked < _FEW:
            self._asked += 1
            ends = self._offsets(encode_text(name) + b"\0", _MOST + 1)
            # The placeholder for an unreadable or truncated name is in no string itself.
            if name.isidentifier() and name.isascii() and len(name) < MAX_NAME and len(ends) <= _MOST:
                return sorted(place for end in ends for place in self._at(end))
        if name in self._several:
            pairs = zip(self._names(), self._positions, strict=True)
            return [place for other, place in pairs if other == name]
        first = self._first.get(name)
        return () if first is None else (first,)

    def among(self, names: Set[str]) -> Set[str]:
        """Return those of some names that functions have."""
        return self._first.keys() & names

    def _at(self, offset: int) -> list[int]:
        """Return the FUNCs whose name begins at an offset of the strings."""
        found, at = list[int](), -1
        while True:
            try:
                at = self._name_offsets.index(offset, at + 1)
            except ValueError:
                return found
            found.append(self._positions[at])

    @cached_property
    def _name_offsets(self) -> array[int]:
        return array("I", map(self._words.__getitem__, self._positions))

    @cached_property
    def _first(self) -> dict[str, int]:
        """Word index by name; of duplicates the first."""
        return dict(zip(reversed(self._names()), reversed(self._positions), strict=True))

    @cached_property
    def _several(self) -> frozenset[str]:
        """Names that more than one function has."""
        names = self._names()
        if len(self._first) == len(names):
            return frozenset()
        return frozenset(name for name, count in Counter(names).items() if count > 1)
