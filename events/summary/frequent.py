"""The values that came most often, in bounded memory.

Exact while there are no more values than there is room for. Then the rarest are let go, and each value has what it
may have been counted too few: as much as any value had that was let go (the lower bound of Space-Saving; Metwally,
Agrawal, El Abbadi, 2005). What was let go is `others`, so that counts and others are always all there were.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]

_BITS = 12
"""Of a hash: as many places as the first cache of a processor has room for."""
_ODD = np.uint64(0x9E3779B97F4A7C15)
"""Spreads the bits of a key over all of its hash."""


class ValueCount(NamedTuple):
    """One value."""

    key: int
    """As it was given to `add`."""
    hits: int
    """It came at least so often."""
    error: int
    """It came at most so many times more."""


class FrequentValues:
    """Counts 64-bit keys; see the module."""

    def __init__(self, limit: int = 4096) -> None:
        """Keep at least `limit` values, at most twice as many."""
        self.limit = limit
        self.total = 0
        """Values that were given, all of them."""
        self.others = 0
        """Values among them that are not counted any more."""
        self.floor = 0
        """The most that any value that is not counted may have come."""
        self._keys: Keys = np.empty(0, np.uint64)
        self._counts: NDArray[np.int64] = np.empty(0, np.int64)
        self._errors: NDArray[np.int64] = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: int) -> bool:
        at = int(np.searchsorted(self._keys, np.uint64(key)))
        return at < len(self._keys) and int(self._keys[at]) == key

    @property
    def exact(self) -> bool:
        """Whether nothing was let go."""
        return not self.others

    def add(self, keys: Keys) -> Keys:
        """Count keys; gives those that are new, each once, in their order."""
        return self._add(*counted(keys))

    def _add(self, found: Keys, counts: NDArray[np.int64]) -> Keys:
        self.total += int(counts.sum())
        at = np.searchsorted(self._keys, found)
        known = np.zeros(len(found), np.bool_)
        inside = at < len(self._keys)
        known[inside] = self._keys[at[inside]] == found[inside]
        self._counts[at[known]] += counts[known]
        new = found[~known]
        if len(new):
            places = at[~known]
            self._keys = np.insert(self._keys, places, new)
            self._counts = np.insert(self._counts, places, counts[~known])
            self._errors = np.insert(self._errors, places, self.floor)
            if len(self._keys) > 2 * self.limit:
                self._let_go()
        return new

    def _let_go(self) -> None:
        most = self._counts + self._errors
        order = np.argsort(-most, kind="stable")
        gone = order[self.limit :]
        self.floor = max(self.floor, int(most[gone].max()))
        self.others += int(self._counts[gone].sum())
        kept = np.sort(order[: self.limit])
        self._keys, self._counts, self._errors = self._keys[kept], self._counts[kept], self._errors[kept]

    def top(self, number: int) -> list[ValueCount]:
        """The most frequent first; those that came equally often by their keys."""
        order = np.lexsort((self._keys, -self._counts))[:number]
        columns = (self._keys[order], self._counts[order], self._errors[order])
        return [ValueCount(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]

    def rest(self, number: int) -> int:
        """What came besides the first `number`."""
        return self.total - sum(one.hits for one in self.top(number))


def counted(keys: Keys) -> tuple[Keys, NDArray[np.int64]]:
    """Each key once, in their order, and how often it came: 8 ns each where few differ, less than to sort them."""
    if len(keys) < 1 << _BITS:
        return np.unique(keys, return_counts=True)
    places = (keys * _ODD >> np.uint64(64 - _BITS)).astype(np.intp)
    owners = np.zeros(1 << _BITS, np.uint64)
    owners[places] = keys
    # Of keys with one hash one has the place, and the others are sorted.
    own = owners[places] == keys
    if own.all():
        others, other_counts = keys[:0], np.empty(0, np.int64)
    else:
        others, other_counts = np.unique(keys[~own], return_counts=True)
        places = places[own]
    counts = np.bincount(places, minlength=1 << _BITS)
    taken = np.flatnonzero(counts)
    found, counts = np.concatenate((owners[taken], others)), np.concatenate((counts[taken], other_counts))
    order = np.argsort(found)
    return found[order], counts[order]
