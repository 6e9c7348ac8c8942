"""Compare the counts of two recordings: rates, latencies and values of each group, what changed most first."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from events.differences.change import (
    ChangeVerdict,
    CountChange,
    Portion,
    compare_portions,
    compare_quantiles,
    compare_shares,
    evidence,
)
from events.differences.value_counts import NamedCount, NumberCounts, ValueShares
from events.summary.distribution import Distribution

LATENCY_QUANTILES: Final = (50, 90, 99)
"""Percentiles of latencies that are compared."""
VALUE_QUANTILES: Final = (10, 50, 90)
"""Percentiles of numbers that are compared."""
MOST_COMPARED: Final = 20
"""Most frequent texts, or names, of each recording that are compared."""

Labels = tuple[str, ...]


class Aspect(enum.StrEnum):
    """Part of a group that is compared."""

    RATE = "rate"
    LATENCY = "latency"
    SIZE = "size"
    """Percentile of the numbers of a field above 0."""
    SHARE = "share"
    """Share of the events that have one value of a field: an error, 0, a named number, a text."""


class GroupFacts(NamedTuple):
    """Counts of one group, with names for values."""

    events: int
    values: Mapping[str, ValueShares] = {}
    """Values by field."""
    durations: NumberCounts | None = None
    """Nanoseconds of its proven calls; None: there are none."""


class RecordingFacts(NamedTuple):
    """Counts of one recording."""

    groups: Mapping[Labels, GroupFacts]
    """Groups by the name of the event and the labels of the keys."""
    seconds: float
    """Recorded time, without gaps."""
    events: int
    """Number of events in the groups."""
    recorded: frozenset[str]
    """Names of the events that the recording would hold, whether any came or not."""
    fields: Mapping[str, frozenset[str]] = {}
    """Names of the fields of each event."""
    lost: int = 0
    """Number of events that are missing: lost, dropped, undecodable, or of calls that the probe missed."""
    gap: float = 0.0
    """Seconds in which the connection was lost."""
    notes: tuple[str, ...] = ()
    """Notes on what is not counted, one a line."""


class Difference(NamedTuple):
    """Comparison of one number of both recordings."""

    group: Labels
    aspect: Aspect
    field: str
    """Field; empty for rates and latencies."""
    item: str
    """Percentile, as `p50`, or the name of a value; empty for rates."""
    a: float
    """Number in recording A: events per second, nanoseconds, percentile, or share from 0 to 1."""
    b: float
    change: CountChange

    @property
    def is_unrecorded(self) -> tuple[bool, bool]:
        """True for A, and for B, where the event was not recorded: the number there is no count."""
        is_alone = self.change.verdict is ChangeVerdict.UNRECORDED
        return is_alone and self.change.factor > 1, is_alone and self.change.factor < 1


class RecordingComparison(NamedTuple):
    """Comparison of two recordings."""

    a: RecordingFacts
    b: RecordingFacts
    differences: tuple[Difference, ...]
    """All comparisons: changes first, those that are proven to be the greatest at the top."""
    other_fields: Mapping[str, tuple[frozenset[str], frozenset[str]]]
    """Fields of an event that only A has, and that only B has, by the event's name; empty: both have the same."""

    @property
    def changes(self) -> tuple[Difference, ...]:
        """Comparisons that found a change."""
        return tuple(one for one in self.differences if one.change.verdict is ChangeVerdict.CHANGED)

    def number_of(self, verdict: ChangeVerdict) -> int:
        """Return the number of comparisons with a verdict."""
        return sum(one.change.verdict is verdict for one in self.differences)

    @property
    def groups(self) -> tuple[Labels, ...]:
        """Groups of both, those with the greatest change first."""
        return tuple(dict.fromkeys(one.group for one in self.differences))

    def of_group(self, group: Labels) -> tuple[Difference, ...]:
        """Return the comparisons of a group."""
        return tuple(one for one in self.differences if one.group == group)


_Judge = Callable[[float], Difference]
"""Comparison that awaits the evidence it needs, which depends on the number of all."""
_RANKS: Final = (
    ChangeVerdict.CHANGED,
    ChangeVerdict.LOSSES,
    ChangeVerdict.UNRECORDED,
    ChangeVerdict.TOO_FEW,
    ChangeVerdict.SAME,
)
_NONE: Final = GroupFacts(0)
_NO_CHANGE: Final = 1.0


def compare(a: RecordingFacts, b: RecordingFacts) -> RecordingComparison:
    """Compare two recordings; the groups of both are matched by their labels."""
    judges = [one for group in dict.fromkeys((*a.groups, *b.groups)) for one in _of_group(group, a, b)]
    need = evidence(len(judges))
    found = sorted((judge(need) for judge in judges), key=_order)
    shared = a.fields.keys() & b.fields.keys()
    other_fields = {
        event: (a.fields[event] - b.fields[event], b.fields[event] - a.fields[event])
        for event in sorted(shared)
        if a.fields[event] != b.fields[event]
    }
    return RecordingComparison(a, b, tuple(found), other_fields)


def _order(one: Difference) -> tuple[object, ...]:
    change = one.change
    return (_RANKS.index(change.verdict), -change.least, -min(change.size, 1e9), *_names(one))


def _names(one: Difference) -> tuple[object, ...]:
    return (one.group, list(Aspect).index(one.aspect), one.field, one.item)


def _of_group(group: Labels, a: RecordingFacts, b: RecordingFacts) -> Iterator[_Judge]:
    own, other = a.groups.get(group, _NONE), b.groups.get(group, _NONE)
    is_recorded = [group[0] in facts.recorded or group in facts.groups for facts in (a, b)]
    yield partial(_rate, group, own, other, a, b, is_recorded=is_recorded)
    if own.durations is not None and other.durations is not None:
        yield from _quantiles(
            (group, Aspect.LATENCY, ""), own.durations.sizes, other.durations.sizes, LATENCY_QUANTILES
        )
    for field in own.values.keys() & other.values.keys():
        yield from _of_field(group, field, own.values[field], other.values[field])


def _rate(
    group: Labels,
    own: GroupFacts,
    other: GroupFacts,
    a: RecordingFacts,
    b: RecordingFacts,
    need: float,
    *,
    is_recorded: Sequence[bool],
) -> Difference:
    rates = [one.events / facts.seconds if facts.seconds > 0 else 0.0 for one, facts in ((own, a), (other, b))]
    portions = [Portion(one.events, facts.seconds, facts.lost) for one, facts in ((own, a), (other, b))]
    change = compare_portions(portions[0], portions[1], need)
    if not all(is_recorded):
        change = CountChange(0.0 if is_recorded[0] else math.inf, _NO_CHANGE, ChangeVerdict.UNRECORDED)
    return Difference(group, Aspect.RATE, "", "", rates[0], rates[1], change)


def _quantiles(
    about: tuple[Labels, Aspect, str], own: Distribution, other: Distribution, parts: Sequence[int]
) -> Iterator[_Judge]:
    for part in parts:
        yield partial(_quantile, about, own, other, part)


def _quantile(
    about: tuple[Labels, Aspect, str], own: Distribution, other: Distribution, part: int, need: float
) -> Difference:
    change = compare_quantiles(own, other, part, need)
    return Difference(*about, f"p{part}", float(own.quantile(part)), float(other.quantile(part)), change)


def _of_field(group: Labels, field: str, own: ValueShares, other: ValueShares) -> Iterator[_Judge]:
    if (own.sizes is None) is not (other.sizes is None):
        return  # a number in one, and a text in the other
    shares = [one.shares for one in (own, other)]
    has_names = bool(own.names or other.names) and own.names is not None and other.names is not None
    if has_names:
        shares = [{**one.shares, **(one.names or {})} for one in (own, other)]
    for name in sorted(
        {name for one, side in zip(shares, (own, other), strict=True) for name in most_frequent(one, side.uncounted)}
    ):
        yield partial(_share, group, field, name, (own, other), shares)
    if own.sizes is not None and other.sizes is not None and own.sizes.count and other.sizes.count and not has_names:
        yield from _quantiles((group, Aspect.SIZE, field), own.sizes, other.sizes, VALUE_QUANTILES)


def most_frequent(shares: Mapping[str, NamedCount], uncounted: int) -> list[str]:
    """Return the most frequent names; none that another one without a count may exceed."""
    certain = [name for name in shares if shares[name].hits > uncounted]
    return sorted(certain, key=lambda name: (-shares[name].hits, name))[:MOST_COMPARED]


def _share(
    group: Labels,
    field: str,
    name: str,
    values: tuple[ValueShares, ValueShares],
    shares: Sequence[Mapping[str, NamedCount]],
    need: float,
) -> Difference:
    counts = [own.get(name, NamedCount(0, one.uncounted)) for own, one in zip(shares, values, strict=True)]
    portions = [Portion(one.hits, value.number, one.error) for one, value in zip(counts, values, strict=True)]
    change = compare_shares(portions[0], portions[1], need)
    if change.verdict is ChangeVerdict.LOSSES:  # the counts of texts are no more exact than that
        change = change._replace(verdict=ChangeVerdict.TOO_FEW)
    a, b = (one.number / one.of if one.of else 0.0 for one in portions)
    return Difference(group, Aspect.SHARE, field, name, a, b, change)
