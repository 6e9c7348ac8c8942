"""Count numbers by size: exact by powers of two, quantiles within a 32nd, in about 2000 counters.

The powers are those of a `.log2` key of the kernel (hist_field_log2 in kernel/trace/trace_events_hist.c): a number
belongs to 2^n if it is greater than 2^(n-1) and at most 2^n, and 0 belongs to 2^0. Each power is divided into 32
steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_STEPS = 5
"""Number of bits after a number's leading bit that are significant."""
_MANTISSA = 52
_BIAS = 1023
_EXACT = np.uint64(1 << 53)
"""Smallest number of which a double may not have all bits."""
_TRUNCATION_MASK = np.uint64(~((1 << 12) - 1) & ((1 << 64) - 1))
_SIZE = 1 + (64 << _STEPS)


class PowerOfTwo(NamedTuple):
    """Count of the numbers above `2^(exponent - 1)` and up to `2^exponent`; 0 and 1 for exponent 0."""

    exponent: int
    hits: int


class Distribution:
    """Counts of numbers from 0 to 2^64 - 1 by size."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0
        """Sum of all numbers."""
        self.most = 0
        self._counts: NDArray[np.int64] = np.zeros(_SIZE, np.int64)

    def add(self, values: NDArray[Any]) -> None:
        """Count numbers; negative numbers count as 0. 15 ns each."""
        if not len(values):
            return
        if values.dtype.kind != "u":
            values = np.maximum(values, 0)
        values = values.astype(np.uint64, copy=False)
        self.most = max(self.most, int(values.max()))
        # Sum in halves, because a sum of many large numbers overflows.
        low, high = values & np.uint64(0xFFFFFFFF), values >> np.uint64(32)
        self.total += int(low.sum()) + (int(high.sum()) << 32)
        self.count += len(values)
        self._counts += np.bincount(_steps(values), minlength=_SIZE)

    def plus(self, *others: Distribution) -> Distribution:
        """Return the counts of the numbers of several distributions."""
        every, found = (self, *others), Distribution()
        found.count = sum(one.count for one in every)
        found.total = sum(one.total for one in every)
        found.most = max(one.most for one in every)
        found._counts = np.sum([one._counts for one in every], axis=0)
        return found

    @property
    def mean(self) -> float:
        """Arithmetic mean; 0 without numbers."""
        return self.total / self.count if self.count else 0.0

    @property
    def powers(self) -> tuple[PowerOfTwo, ...]:
        """Counts from the first to the last power that has any, including those in between."""
        counts = [int(self._counts[0]), *self._counts[1:].reshape(64, -1).sum(axis=1).tolist()]
        found = [exponent for exponent, count in enumerate(counts) if count]
        return tuple(PowerOfTwo(n, counts[n]) for n in range(found[0], found[-1] + 1)) if found else ()

    def quantile(self, hundredths: int) -> int:
        """Return a number that at least `hundredths` percent of all do not exceed: at most a 32nd too high, exact up
        to 64 (but 0 counts as 1 if there is any 1). 0 without numbers.
        """
        return self.at_rank(rank(self.count, hundredths))

    def thousandths(self, number: int) -> int:
        """Return a value that at least `number` thousandths of all do not exceed, as `quantile` does."""
        return self.at_rank(max(1, -(-self.count * number // 1000)))

    def at_rank(self, place: int) -> int:
        """Return the number at a place, from 1, among all in ascending order, as exact as `quantile`."""
        if not self.count:
            return 0
        return min(self.most, _last_of(int(np.searchsorted(np.cumsum(self._counts), place))))


def rank(count: int, hundredths: int) -> int:
    """Return how many of the smallest numbers make up `hundredths` percent of all; at least 1."""
    return max(1, -(-count * hundredths // 100))


def quantile_of(value: int) -> int:
    """Return the result of `quantile` for a number that is not the maximum."""
    return _last_of(int(_steps(np.array([value], np.uint64))[0]))


def _steps(values: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the step of each number: 0 for 0 and 1; otherwise from the leading bit and the next five bits of number
    - 1.
    """
    before = values - (values > 0)
    before = np.where(before >= _EXACT, before & _TRUNCATION_MASK, before)
    bits = before.astype(np.float64).view(np.int64) >> (_MANTISSA - _STEPS)
    return np.where(before > 0, bits - (_BIAS << _STEPS) + 1, 0)


def powers_of_two(values: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the exponent of the power of two that each number belongs to; see the module."""
    return (_steps(values) - 1 >> _STEPS) + 1


def _last_of(step: int) -> int:
    """Return the greatest number of a step."""
    if not step:
        return 1
    exponent, part = divmod(step - 1, 1 << _STEPS)
    end = ((1 << _STEPS) + part + 1) << exponent
    return -(-end >> _STEPS)
