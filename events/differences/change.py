"""Judge whether counts, shares and quantiles of two recordings differ by more than chance, and by how much at least.

Each comparison has the least factor by which the two differ with near certainty: the probability that chance alone
makes one comparison of a whole table cross its bound is at most `RISK`. The bounds are Chernoff's of the binomial
distribution (n * KL(k/n || p), exact for any n), so that few events never seem to prove something. They take events
as independent of one another.
"""

from __future__ import annotations

import enum
import math
from typing import Final, NamedTuple

from events.summary.distribution import Distribution

FLOOR: Final = 1.5
"""Least factor that is a change: smaller ones are of interest to nobody who compares two runs of a system."""
RISK: Final = 0.01
"""Probability that any comparison of a table without changes is taken for one."""
_STEPS: Final = 50
"""Halvings of the interval in which a bound is looked for."""
_MOST_LOG: Final = 64.0
"""Logarithm of the greatest factor that is looked for."""


class ChangeVerdict(enum.StrEnum):
    """Result of one comparison."""

    CHANGED = "changed"
    LOSSES = "lost events may be the difference"
    TOO_FEW = "too few to tell"
    SAME = "no difference beyond chance"
    UNRECORDED = "not recorded in both"


class CountChange(NamedTuple):
    """Result of comparing a number of recording A with that of recording B."""

    factor: float
    """B divided by A: 2.0 if B has twice as much; infinite if A has none, 0.0 if B has none."""
    least: float
    """Least factor, at least 1.0, by which they differ with near certainty, whichever is the greater."""
    verdict: ChangeVerdict

    @property
    def size(self) -> float:
        """Factor by which they differ, whichever is the greater; infinite if one has none."""
        return max(self.factor, 1 / self.factor if self.factor else math.inf)


class Portion(NamedTuple):
    """Number of events with some property."""

    number: float
    of: float
    """Measure that they are divided by: the number of all events, or seconds."""
    unsure: float = 0.0
    """Greatest number by which `number` may be too small."""


def evidence(comparisons: int) -> float:
    """Return the exponent that a tail has to exceed to prove something in a table of so many comparisons.

    Each has at most four tails: two ends of the quantile of each recording.
    """
    return math.log(4 * max(1, comparisons) / RISK)


def compare_portions(a: Portion, b: Portion, need: float, most: tuple[float, float] | None = None) -> CountChange:
    """Compare two numbers, each divided by its measure.

    Args:
        a: number of recording A.
        b: number of recording B.
        need: a result of `evidence`.
        most: greatest number that each could have: where not even this of one and none of the other would be a
            change, there are too few to tell. None: both numbers together.
    """
    if a.of <= 0 or b.of <= 0:
        return CountChange(1.0, 1.0, ChangeVerdict.TOO_FEW)
    rates = a.number / a.of, b.number / b.of
    factor = (1.0 if rates == (0, 0) else math.inf) if not rates[0] else rates[1] / rates[0]
    least = _least_factor(a, b, need)
    if least >= FLOOR:
        low = min(rates)
        filled_a, filled_b = (
            one._replace(number=one.number + one.unsure) if rate == low else one
            for one, rate in ((a, rates[0]), (b, rates[1]))
        )
        is_certain = _least_factor(filled_a, filled_b, need) >= FLOOR
        return CountChange(factor, least, ChangeVerdict.CHANGED if is_certain else ChangeVerdict.LOSSES)
    most_a, most_b = most or (a.number + b.number, a.number + b.number)
    can_tell = all(
        _least_factor(a._replace(number=one), b._replace(number=other), need) >= FLOOR
        for one, other in ((most_a, 0.0), (0.0, most_b))
    )
    found = CountChange(factor, least, ChangeVerdict.SAME)
    return found._replace(verdict=ChangeVerdict.SAME if can_tell and found.size < FLOOR else ChangeVerdict.TOO_FEW)


def compare_shares(a: Portion, b: Portion, need: float) -> CountChange:
    """Compare two shares of events; of more than half the rest is compared, as it is what changes by a factor.

    The factor is that of the shares themselves.
    """
    most = (a.of, b.of)
    if 2 * (a.number + b.number) <= a.of + b.of:
        return compare_portions(a, b, need, most)
    rest_a, rest_b = (one._replace(number=one.of - one.number, unsure=0.0) for one in (a, b))
    found = compare_portions(rest_a, rest_b, need, most)
    if not (a.of and b.of):
        return found
    shares = a.number / a.of, b.number / b.of
    return found._replace(factor=shares[1] / shares[0] if shares[0] else math.inf)


def compare_quantiles(a: Distribution, b: Distribution, hundredths: int, need: float) -> CountChange:
    """Compare a quantile of two distributions by the ranges in which the quantiles lie."""
    if not (a.count and b.count):
        return CountChange(1.0, 1.0, ChangeVerdict.TOO_FEW)
    factor = b.quantile(hundredths) / max(1, a.quantile(hundredths))
    ranges = quantile_range(a, hundredths, need), quantile_range(b, hundredths, need)
    (a_low, a_high), (b_low, b_high) = ranges
    least = max(1.0, b_low / max(1.0, a_high), a_low / max(1.0, b_high))
    found = CountChange(factor, least, ChangeVerdict.CHANGED)
    if least >= FLOOR:
        return found
    is_bounded = all(low and math.isfinite(high) for low, high in ranges)
    return found._replace(verdict=ChangeVerdict.SAME if is_bounded and found.size < FLOOR else ChangeVerdict.TOO_FEW)


def quantile_range(found: Distribution, hundredths: int, need: float) -> tuple[float, float]:
    """Return the least and the greatest number that the quantile may be with near certainty.

    0.0 and infinite: there are too few numbers for a bound.
    """
    share, count = hundredths / 100, found.count
    low, high = 0.0, math.inf
    if _exponent(0, count, share) >= need:
        low = float(found.at_rank(max(1, _edge(0, count, share, need))))
    if _exponent(count, count, share) >= need:
        high = float(found.at_rank(_edge(count, count, share, need)))
    return low, high


def _edge(from_end: int, count: int, share: float, need: float) -> int:
    """Return the rank nearest to `from_end` (0 or `count`) that the quantile may have; bisection."""
    beyond, within = float(from_end), share * count
    while abs(beyond - within) > 1:
        middle = (beyond + within) / 2
        if _exponent(middle, count, share) >= need:
            beyond = middle
        else:
            within = middle
    return math.floor(min(beyond, within)) if not from_end else math.ceil(max(beyond, within))


def _least_factor(a: Portion, b: Portion, need: float) -> float:
    """Return the greatest factor that is excluded as too small for the difference; at least 1.0."""
    low, high = sorted((a, b), key=lambda one: one.number / one.of)
    number = low.number + high.number

    def excludes(log_factor: float) -> bool:
        weight = high.of * math.exp(log_factor)
        share = weight / (low.of + weight)
        return high.number > share * number and _exponent(high.number, number, share) >= need

    if not number or not excludes(0.0):
        return 1.0
    bounds = [0.0, _MOST_LOG]
    for _ in range(_STEPS):
        middle = sum(bounds) / 2
        bounds[0 if excludes(middle) else 1] = middle
    return math.exp(bounds[0])


def _exponent(hits: float, number: float, share: float) -> float:
    """Return Chernoff's exponent: `hits` of `number`, or a number beyond, are so improbable at a probability."""
    found = 0.0
    for part, expected in ((hits, share), (number - hits, 1 - share)):
        if part > 0:
            found += part * math.log(part / (number * expected)) if expected > 0 else math.inf
    return found
