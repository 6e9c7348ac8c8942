"""Sum the values of groups exactly: number, sum, minimum, maximum and powers of two of each group, as columns.

A sum of 64-bit numbers is kept in two halves, of which the lower stays below 2^32. Signed and unsigned numbers have a
minimum and a maximum of their own, as no type of numpy holds both.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.aggregates.request import AggregateFunction
from events.summary.distribution import PowerOfTwo, powers_of_two

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_POWERS: Final = 66
"""Counters of a group: negative numbers, then the exponents 0 to 64."""
_HALF: Final = 32
_LOW: Final = (1 << _HALF) - 1
_TYPES: Final = (np.int64, np.uint64)


class ValueTotal(NamedTuple):
    """Values of one group."""

    number: int
    """Number of values."""
    sum: int
    least: int | None
    """Smallest value; None: there is no value."""
    most: int | None
    powers: tuple[PowerOfTwo, ...]
    """Counts from the first to the last power of two that has any, those of negative numbers under `NEGATIVE`; empty
    if they are not counted."""

    @property
    def mean(self) -> float | None:
        """Arithmetic mean; None: there is no value."""
        return self.sum / self.number if self.number else None


class _Extremes:
    """Minimum and maximum by group, of the numbers of one type."""

    def __init__(self, dtype: type[np.signedinteger[Any] | np.unsignedinteger[Any]], size: int) -> None:
        limits = np.iinfo(dtype)
        self.none = (limits.max, limits.min)
        """Minimum and maximum of a group without numbers of this type."""
        self.least = np.full(size, limits.max, dtype)
        self.most = np.full(size, limits.min, dtype)

    def grow(self, size: int) -> None:
        more = size - len(self.least)
        self.least, self.most = (
            np.concatenate((column, np.full(more, none, column.dtype)))
            for column, none in zip((self.least, self.most), self.none, strict=True)
        )

    def has(self, group: int) -> bool:
        return bool(self.least[group] <= self.most[group])


class ValueSums:
    """Values by group, for groups 0 to `size - 1`."""

    def __init__(self, size: int, *, with_powers: bool = False) -> None:
        self.number: Ints = np.zeros(size, np.int64)
        """Number of values."""
        self.high: Ints = np.zeros(size, np.int64)
        """Sum divided by 2^32."""
        self.low: Ints = np.zeros(size, np.int64)
        """Remainder of that division."""
        self.powers: Ints | None = np.zeros((size, _POWERS), np.int64) if with_powers else None
        self._extremes: dict[str, _Extremes] = {}

    def __len__(self) -> int:
        return len(self.number)

    def grow(self, size: int) -> None:
        """Add groups without values; `size`: number of all."""
        more = size - len(self)
        for name in ("number", "high", "low"):
            setattr(self, name, np.concatenate((getattr(self, name), np.zeros(more, np.int64))))
        if self.powers is not None:
            self.powers = np.concatenate((self.powers, np.zeros((more, _POWERS), np.int64)))
        for extremes in self._extremes.values():
            extremes.grow(size)

    def add(self, groups: Ints, starts: Ints, values: NDArray[Any]) -> None:
        """Add values.

        Args:
            groups: group of each run of values; a group may have several runs.
            starts: first index of each run.
            values: integers or bools of all runs, one after the other.
        """
        if not len(values):
            return
        dtype = np.uint64 if values.dtype == np.uint64 else np.int64
        values = values.astype(dtype, copy=False)
        sizes = np.diff(starts, append=len(values))
        np.add.at(self.number, groups, sizes)
        np.add.at(self.high, groups, np.add.reduceat((values >> dtype(_HALF)).astype(np.int64), starts))
        np.add.at(self.low, groups, np.add.reduceat((values & dtype(_LOW)).astype(np.int64), starts))
        self._carry()
        extremes = self._extremes_of(dtype)
        np.minimum.at(extremes.least, groups, np.minimum.reduceat(values, starts))
        np.maximum.at(extremes.most, groups, np.maximum.reduceat(values, starts))
        if self.powers is not None:
            exponents = powers_of_two(np.maximum(values, 0).astype(np.uint64)) + 1
            if dtype is np.int64:
                exponents = np.where(values < 0, 0, exponents)
            np.add.at(self.powers, (np.repeat(groups, sizes), exponents), 1)

    def merged(self, groups: Ints, size: int) -> ValueSums:
        """Return the sums by other groups, given by the number of each group's new group."""
        found = ValueSums(size, with_powers=self.powers is not None)
        for name in ("number", "high", "low"):
            np.add.at(getattr(found, name), groups, getattr(self, name)[: len(groups)])
        found._carry()
        for dtype in _TYPES:
            if (own := self._extremes.get(dtype.__name__)) is not None:
                other = found._extremes_of(dtype)
                np.minimum.at(other.least, groups, own.least[: len(groups)])
                np.maximum.at(other.most, groups, own.most[: len(groups)])
        if found.powers is not None and self.powers is not None:
            np.add.at(found.powers, groups, self.powers[: len(groups)])
        return found

    def total(self, group: int) -> ValueTotal:
        """Return the values of a group."""
        there = [extremes for extremes in self._extremes.values() if extremes.has(group)]
        return ValueTotal(
            int(self.number[group]),
            (int(self.high[group]) << _HALF) + int(self.low[group]),
            min((int(extremes.least[group]) for extremes in there), default=None),
            max((int(extremes.most[group]) for extremes in there), default=None),
            self._powers_of(group),
        )

    def approximate(self, function: AggregateFunction) -> NDArray[np.float64]:
        """Return a function of the values of each group, rounded to a double; NaN for a group without values."""
        none: NDArray[np.float64] = np.where(self.number > 0, 0.0, np.nan)
        if function in (AggregateFunction.SUM, AggregateFunction.AVG):
            sums: NDArray[np.float64] = self.high.astype(np.float64) * (1 << _HALF) + self.low
            return none + sums / (1 if function is AggregateFunction.SUM else np.maximum(self.number, 1))
        found: NDArray[np.float64] = np.full(len(self), np.nan)
        for extremes in self._extremes.values():
            numbers = extremes.least if function is AggregateFunction.MIN else extremes.most
            own = np.where(extremes.least <= extremes.most, numbers.astype(np.float64), np.nan)
            found = (np.fmin if function is AggregateFunction.MIN else np.fmax)(found, own)
        return none + found

    def _powers_of(self, group: int) -> tuple[PowerOfTwo, ...]:
        if self.powers is None or not len(places := np.flatnonzero(self.powers[group])):
            return ()
        counts = self.powers[group].tolist()
        return tuple(PowerOfTwo(place - 1, counts[place]) for place in range(int(places[0]), int(places[-1]) + 1))

    def _carry(self) -> None:
        self.high += self.low >> _HALF
        self.low &= _LOW

    def _extremes_of(self, dtype: type[np.int64 | np.uint64]) -> _Extremes:
        if dtype.__name__ not in self._extremes:
            self._extremes[dtype.__name__] = _Extremes(dtype, len(self))
        return self._extremes[dtype.__name__]
