"""How often numbers of each size came: exact by powers of two, quantiles within a 32nd, in some 2000 counts.

The powers are those of a `.log2` key of the kernel (hist_field_log2 in kernel/trace/trace_events_hist.c): a number
belongs to 2^n where it is greater than 2^(n-1) and at most 2^n, and 0 belongs to 2^0. Each power is divided into
32 steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_STEPS = 5
"""Bits of a number behind its first one that are told apart."""
_MANTISSA = 52
_BIAS = 1023
_EXACT = np.uint64(1 << 53)
"""From here on a double has not all bits of a number."""
_ROUGH = np.uint64(~((1 << 12) - 1) & ((1 << 64) - 1))
_SIZE = 1 + (64 << _STEPS)


class PowerOfTwo(NamedTuple):
    """The numbers above `2^(exponent - 1)` and up to `2^exponent`; 0 and 1 where the exponent is 0."""

    exponent: int
    hits: int


class Distribution:
    """Numbers from 0 to 2^64 - 1, counted by their size."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0
        """Sum of all."""
        self.most = 0
        self._counts: NDArray[np.int64] = np.zeros(_SIZE, np.int64)

    def add(self, values: NDArray[Any]) -> None:
        """Count numbers; what is below 0 counts as 0. 15 ns each."""
        if not len(values):
            return
        if values.dtype.kind != "u":
            values = np.maximum(values, 0)
        values = values.astype(np.uint64, copy=False)
        self.most = max(self.most, int(values.max()))
        # Halves, because the sum of many large numbers does not fit.
        low, high = values & np.uint64(0xFFFFFFFF), values >> np.uint64(32)
        self.total += int(low.sum()) + (int(high.sum()) << 32)
        self.count += len(values)
        self._counts += np.bincount(_steps(values), minlength=_SIZE)

    @property
    def mean(self) -> float:
        """0 where there are none."""
        return self.total / self.count if self.count else 0.0

    @property
    def powers(self) -> tuple[PowerOfTwo, ...]:
        """From the first to the last that has any, those between included."""
        counts = [int(self._counts[0]), *self._counts[1:].reshape(64, -1).sum(axis=1).tolist()]
        found = [exponent for exponent, count in enumerate(counts) if count]
        return tuple(PowerOfTwo(n, counts[n]) for n in range(found[0], found[-1] + 1)) if found else ()

    def quantile(self, hundredths: int) -> int:
        """A number that so many hundredths of all are not above; at most a 32nd too high, exact up to 64 (but 0 is
        as 1 where there is any 1). 0 where there are none.
        """
        if not self.count:
            return 0
        step = int(np.searchsorted(np.cumsum(self._counts), rank(self.count, hundredths)))
        return min(self.most, _last_of(step))


def rank(count: int, hundredths: int) -> int:
    """How many of the smallest it takes to have so many hundredths of all; at least 1."""
    return max(1, -(-count * hundredths // 100))


def rounded(value: int) -> int:
    """What a `quantile` gives for a number that is not the greatest."""
    return _last_of(int(_steps(np.array([value], np.uint64))[0]))


def _steps(values: NDArray[np.uint64]) -> NDArray[np.int64]:
    """0 for 0 and 1; then by the number before: its first bit and the five behind it."""
    before = values - (values > 0)
    before = np.where(before >= _EXACT, before & _ROUGH, before)
    bits = before.astype(np.float64).view(np.int64) >> (_MANTISSA - _STEPS)
    return np.where(before > 0, bits - (_BIAS << _STEPS) + 1, 0)


def _last_of(step: int) -> int:
    """The greatest number of a step."""
    if not step:
        return 1
    exponent, part = divmod(step - 1, 1 << _STEPS)
    end = ((1 << _STEPS) + part + 1) << exponent
    return -(-end >> _STEPS)
