"""Find the most frequent values in bounded memory.

Counts are exact while the number of distinct values fits the limit. Then the rarest are dropped, and each value that
is added later has a maximum error: the highest count of any dropped value (the lower bound of Space-Saving; Metwally,
Agrawal, El Abbadi, 2005). The counts of dropped values are added to `uncounted`, so that both always sum to the
total.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]

_BITS = 12
"""Number of hash bits: the table fits a processor's first-level cache."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""Odd multiplier (2^64 / golden ratio) that spreads the bits of a key over its hash."""


class ValueCount(NamedTuple):
    """Count of one value."""

    key: int
    """Key as given to `add`."""
    hits: int
    """Lower bound of the number of occurrences."""
    error: int
    """Maximum error: there were at most this many more occurrences."""


class FrequentValues:
    """Counts of 64-bit keys; see the module."""

    def __init__(self, limit: int = 4096) -> None:
        """Keep at least `limit` values, at most twice as many."""
        self.limit = limit
        self.total = 0
        """Number of all values added."""
        self.uncounted = 0
        """Number of values added whose counts were dropped."""
        self.floor = 0
        """Maximum number of occurrences of any value without a count."""
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
        """True if no count was dropped."""
        return not self.uncounted

    def add(self, keys: Keys) -> Keys:
        """Count keys; return those that are new, each once, ascending."""
        return self._add(*count_keys(keys))

    def _add(self, found: Keys, counts: NDArray[np.int64]) -> Keys:
        self.total += int(counts.sum())
        at = np.searchsorted(self._keys, found)
        is_known = np.zeros(len(found), np.bool_)
        inside = at < len(self._keys)
        is_known[inside] = self._keys[at[inside]] == found[inside]
        self._counts[at[is_known]] += counts[is_known]
        new = found[~is_known]
        if len(new):
            places = at[~is_known]
            self._keys = np.insert(self._keys, places, new)
            self._counts = np.insert(self._counts, places, counts[~is_known])
            self._errors = np.insert(self._errors, places, self.floor)
            if len(self._keys) > 2 * self.limit:
                self._drop_rarest()
        return new

    def _drop_rarest(self) -> None:
        most = self._counts + self._errors
        order = np.argsort(-most, kind="stable")
        dropped = order[self.limit :]
        self.floor = max(self.floor, int(most[dropped].max()))
        self.uncounted += int(self._counts[dropped].sum())
        retained = np.sort(order[: self.limit])
        self._keys, self._counts, self._errors = self._keys[retained], self._counts[retained], self._errors[retained]

    def top(self, number: int) -> list[ValueCount]:
        """Return the most frequent values, in descending order; equally frequent ones by key."""
        order = np.lexsort((self._keys, -self._counts))[:number]
        columns = (self._keys[order], self._counts[order], self._errors[order])
        return [ValueCount(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]

    def rest(self, number: int) -> int:
        """Return the number of occurrences besides those of the `number` most frequent values."""
        return self.total - sum(value.hits for value in self.top(number))


def count_keys(keys: Keys) -> tuple[Keys, NDArray[np.int64]]:
    """Return the distinct keys, ascending, and their counts: 8 ns per key if few differ, less than sorting takes."""
    if len(keys) < 1 << _BITS:
        return np.unique(keys, return_counts=True)
    places = (keys * _MULTIPLIER >> np.uint64(64 - _BITS)).astype(np.intp)
    owners = np.zeros(1 << _BITS, np.uint64)
    owners[places] = keys
    # Of the keys with one hash, one is counted by its place, and the others by sorting.
    is_owner = owners[places] == keys
    if is_owner.all():
        others, other_counts = keys[:0], np.empty(0, np.int64)
    else:
        others, other_counts = np.unique(keys[~is_owner], return_counts=True)
        places = places[is_owner]
    counts = np.bincount(places, minlength=1 << _BITS)
    used = np.flatnonzero(counts)
    found, counts = np.concatenate((owners[used], others)), np.concatenate((counts[used], other_counts))
    order = np.argsort(found)
    return found[order], counts[order]
