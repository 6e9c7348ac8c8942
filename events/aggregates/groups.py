"""Group rows by up to three keys, in bounded memory, and sum their values.

Keys are 64-bit numbers (`events.summary.keys`). Beyond a limit of groups, the rows of further keys are one group,
`OTHERS`: the sums of every group stay exact.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.aggregates.request import MAX_KEYS
from events.aggregates.value_sums import ValueSums

Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]
Mask = NDArray[np.bool_]

OTHERS: Final = 0
"""Group of the rows whose keys came when there was no more room."""
_MULTIPLIERS: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
"""Multipliers of splitmix64, which spreads all bits of a number over all bits of another (Steele, Lea, Flood,
2014)."""
_WEIGHTS: Final = [np.uint64(int.from_bytes(secrets.token_bytes(8), "little") | 1) for _ in range(MAX_KEYS + 1)]
"""Random odd numbers: nobody can make keys whose hashes collide."""


class ValueColumn(NamedTuple):
    """Values of some of the rows."""

    values: NDArray[Any]
    """Integers or bools, one for each row."""
    present: Mask | None = None
    """Mask of the rows with a value; None: all have one."""


class GroupTotals(NamedTuple):
    """Sums by other groups than those that were counted."""

    counts: Ints
    values: tuple[ValueSums, ...]


class Groups:
    """Groups of rows: number 0 is `OTHERS`, the others are in the order in which their first row came."""

    def __init__(self, keys: int, values: Sequence[bool], limit: int) -> None:
        """Set the shape.

        Args:
            keys: number of keys.
            values: for each summed value, True if its powers of two are counted.
            limit: maximum number of groups beside `OTHERS`.
        """
        self.counts: Ints = np.zeros(1, np.int64)
        """Number of rows by group."""
        self.keys: Keys = np.zeros((1, keys), np.uint64)
        """Keys by group."""
        self.sources: list[int] = [-1]
        """Source of each group's keys, as given to `add`."""
        self.values = tuple(ValueSums(1, with_powers=with_powers) for with_powers in values)
        self.limit = limit
        self._hashes: Keys = np.empty(0, np.uint64)
        """Hashes of source and keys, ascending."""
        self._groups: Ints = np.empty(0, np.int64)
        """Group of each of them."""

    def __len__(self) -> int:
        return len(self.sources)

    def add(self, source: int, keys: Keys, values: Sequence[Sequence[ValueColumn]]) -> None:
        """Add rows.

        Args:
            source: number that tells what the keys stand for; rows of different sources are never of one group.
            keys: a row for each row, a column for each key.
            values: columns of each summed value, of which a row has at most one.
        """
        if not len(keys):
            return
        hashes = _hashes(source, keys)
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        groups = self._find(source, ordered[starts], keys[order[starts]])
        np.add.at(self.counts, groups, np.diff(starts, append=len(ordered)))
        of_rows = np.repeat(groups, np.diff(starts, append=len(ordered)))
        for sums, columns in zip(self.values, values, strict=True):
            for column in columns:
                if column.present is None:
                    sums.add(groups, starts, column.values[order])
                elif column.present.any():
                    present = column.present[order]
                    own = of_rows[present]
                    own_starts = np.flatnonzero(np.append(True, own[1:] != own[:-1]))
                    sums.add(own[own_starts], own_starts, column.values[order][present])

    def merged(self, groups: Ints, size: int) -> GroupTotals:
        """Return the sums by other groups, 0 to `size - 1`, given by the number of each group's new group."""
        counts = np.zeros(size, np.int64)
        np.add.at(counts, groups, self.counts[: len(groups)])
        return GroupTotals(counts, tuple(sums.merged(groups, size) for sums in self.values))

    def _find(self, source: int, hashes: Keys, keys: Keys) -> Ints:
        """Return the groups of hashes, which are ascending; new ones are added while there is room."""
        at = np.searchsorted(self._hashes, hashes)
        known = np.zeros(len(hashes), np.bool_)
        inside = at < len(self._hashes)
        known[inside] = self._hashes[at[inside]] == hashes[inside]
        groups = np.full(len(hashes), OTHERS, np.int64)
        groups[known] = self._groups[at[known]]
        new = np.flatnonzero(~known)[: max(0, self.limit + 1 - len(self))]
        if len(new):
            size = len(self) + len(new)
            groups[new] = numbers = np.arange(len(self), size)
            self._hashes = np.insert(self._hashes, at[new], hashes[new])
            self._groups = np.insert(self._groups, at[new], numbers)
            self.counts = np.concatenate((self.counts, np.zeros(len(new), np.int64)))
            self.keys = np.concatenate((self.keys, keys[new]))
            self.sources += [source] * len(new)
            for sums in self.values:
                sums.grow(size)
        return groups


def _hashes(source: int, keys: Keys) -> Keys:
    """Return a hash of source and keys for each row; with one key it is different for different keys."""
    with np.errstate(over="ignore"):
        found = np.full(len(keys), np.uint64(source + 1) * _WEIGHTS[-1], np.uint64)
        for column, weight in zip(keys.T, _WEIGHTS, strict=False):
            found = (found ^ column) * weight
            for shift, multiplier in zip((30, 27), _MULTIPLIERS, strict=True):
                found = (found ^ found >> np.uint64(shift)) * multiplier
            found ^= found >> np.uint64(31)
    return found
