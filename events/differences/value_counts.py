"""Count the values of one field in one group of events, within a bounded memory: numbers, or texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.decode import Value
from events.format import Field
from events.names.errnos import MAX_ERRNO
from events.summary.distribution import Distribution
from events.summary.frequent import FrequentValues
from events.summary.keys import KeyColumns
from events.text import show

MOST_EXACT: Final = 64
"""Greatest number of distinct numbers that are counted each by itself."""
MOST_TEXTS: Final = 128
"""Distinct texts that are counted at least."""
ZERO: Final = "0"
NEGATIVE: Final = "negative"

NameOf = Callable[[Value, int], str]
"""Returns the name of a value in a boot; the number itself if it has none."""


class NamedCount(NamedTuple):
    """Number of events with a named value."""

    hits: int
    """Lower bound of their number."""
    error: int = 0
    """Greatest number by which it is too low."""


class ValueShares(NamedTuple):
    """Values of one field: how many have which name, and the sizes of numbers."""

    number: int
    """Number of all values."""
    shares: dict[str, NamedCount]
    """Counts by name: of errors, 0 and other negative numbers, or of texts."""
    names: dict[str, NamedCount] | None = None
    """Counts of the other numbers that have names; None: there are too many distinct numbers."""
    sizes: Distribution | None = None
    """Numbers above 0, with or without names; None: texts."""
    least: int | None = None
    most: int | None = None
    uncounted: int = 0
    """Greatest count of a text that is not among `shares`; 0: all are."""


class NumberCounts:
    """Numbers of one field: their sizes, and the most telling ones exactly."""

    def __init__(self, field: Field | None) -> None:
        self.field = field
        """Field; None: the durations of calls."""
        self.number = 0
        self.total = 0
        """Sum of all numbers."""
        self.least: int | None = None
        self.most: int | None = None
        self.sizes = Distribution()
        """Numbers above 0."""
        self.negative: Counter[int] = Counter()
        """Negative numbers that may be errors, each by itself; the others under 0."""
        self.zeros = 0
        self.exact: dict[int, Counter[int]] | None = {}
        """Each number by itself, by boot, as addresses have other names in each; None: there are more than
        `MOST_EXACT` in one."""

    def add(self, values: NDArray[Any], boot: int = 0) -> None:
        """Count integers or bools that were recorded in a boot."""
        if not len(values):
            return
        found, hits = np.unique(values.astype(np.int64) if values.dtype.kind == "b" else values, return_counts=True)
        self.number += len(values)
        self.total += sum(value * count for value, count in zip(found.tolist(), hits.tolist(), strict=True))
        self.least = min(int(found[0]), int(found[0]) if self.least is None else self.least)
        self.most = max(int(found[-1]), int(found[-1]) if self.most is None else self.most)
        self.sizes.add(values[values > 0])
        self.zeros += int((values == 0).sum())
        below = int(np.searchsorted(found, 0)) if found.dtype.kind == "i" else 0
        for value, count in zip(found[:below].tolist(), hits[:below].tolist(), strict=True):
            self.negative[value if value >= -MAX_ERRNO else 0] += count
        if self.exact is not None:
            own = self.exact.setdefault(boot, Counter())
            own.update(dict(zip(found.tolist(), hits.tolist(), strict=True)))
            if len(own) > MOST_EXACT:
                self.exact = None

    @property
    def mean(self) -> float:
        """Arithmetic mean; 0.0 without numbers."""
        return self.total / self.number if self.number else 0.0

    def named(self, name_of: NameOf) -> ValueShares:
        """Return the counts by name; numbers whose names are plain digits have none."""
        shares: Counter[str] = Counter()
        names: Counter[str] = Counter()
        every = [(boot, *one) for boot, own in (self.exact or {}).items() for one in own.items()]
        first = next(iter(self.exact or (0,)))
        for value, hits in self.negative.items():
            name = name_of(value, first) if value else ""
            shares[name if _is_name(name, value) else NEGATIVE] += hits
        for boot, value, hits in every:
            if value >= 0 and _is_name(name := name_of(value, boot), value):
                names[name] += hits
        if self.zeros and not (self.exact and _is_name(name_of(0, first), 0)):
            shares[ZERO] += self.zeros
        return ValueShares(
            self.number,
            {name: NamedCount(hits) for name, hits in shares.items()},
            {name: NamedCount(hits) for name, hits in names.items()} if self.exact is not None else None,
            self.sizes,
            self.least,
            self.most,
        )


class TextCounts:
    """Texts of one field; the most frequent ones are counted, see `events.summary.frequent`."""

    def __init__(self) -> None:
        self.frequent = FrequentValues(MOST_TEXTS)
        self._texts: dict[int, Value] = {}

    def add(self, found: KeyColumns) -> None:
        """Count texts, given as their keys."""
        self._texts |= found.values(self.frequent.add(found.keys))
        if len(self._texts) > 4 * MOST_TEXTS:
            self._texts = {key: text for key, text in self._texts.items() if key in self.frequent}

    def named(self) -> ValueShares:
        """Return the counts of the most frequent texts."""
        counts = self.frequent.top(len(self.frequent))
        shares = {show(self._texts.get(key)): NamedCount(hits, error) for key, hits, error in counts}
        return ValueShares(self.frequent.total, shares, uncounted=self.frequent.floor)


def _is_name(name: str, value: int) -> bool:
    """Return whether a text tells more of a number than its digits."""
    return bool(name) and name not in (str(value), hex(value)) and not name.startswith("0x")
