"""Differences of two recordings: none from itself, mirrored ones if they are swapped, and bounds that hold."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.differences.change import (
    FLOOR,
    RISK,
    ChangeVerdict,
    Portion,
    compare_portions,
    compare_quantiles,
    compare_shares,
    evidence,
    quantile_range,
)
from events.differences.differences import Aspect, Difference, GroupFacts, RecordingFacts, compare
from events.differences.recorded_time import RecordedTime
from events.differences.value_counts import NumberCounts, TextCounts
from events.format import Field, FieldKind
from events.summary.distribution import Distribution
from events.summary.keys import value_keys
from tui.output.comparison_table import difference_object
from tui.views.compare.text import change_text, group_lines, head_lines, number_texts

NEED = evidence(20)
COUNTS = st.integers(0, 2000)
TIMES = st.floats(0.1, 100)
FIELD = Field("ret", "s64", 8, 8, True, FieldKind.INT, 8)


def number_text(value: object, _: int) -> str:
    return str(value)


def numbers_of(values: list[int]) -> NumberCounts:
    found = NumberCounts(FIELD)
    for start in range(0, len(values), 7):
        found.add(np.array(values[start : start + 7], np.int64))
    return found


def texts_of(values: list[str]) -> TextCounts:
    found = TextCounts()
    found.add(value_keys(list(values)))
    return found


def distribution(values: list[int]) -> Distribution:
    found = Distribution()
    found.add(np.array(values, np.uint64))
    return found


@st.composite
def facts(draw: st.DrawFn) -> RecordingFacts:
    """Counts of a recording with a few groups, with errors, sizes, texts and durations."""
    shuffled = random.Random(draw(st.integers(0, 1 << 32)))
    groups = {}
    for name in draw(st.sets(st.sampled_from("abc"), min_size=1)):
        size = draw(st.sampled_from((0, 3, 40, 600)))
        values = [shuffled.choice((-2, -11, 0, 5, 512, 4096, 1 << 40)) for _ in range(size)]
        groups[name, "f"] = GroupFacts(
            size,
            {
                "ret": numbers_of(values).named(lambda value, _: "-ENOENT" if value == -2 else str(value)),
                "path": texts_of([shuffled.choice("xyz") for _ in range(size)]).named(),
            },
            numbers_of([shuffled.randrange(1, 10**6) for _ in range(size)]) if size else None,
        )
    events = sum(group.events for group in groups.values())
    seconds = draw(st.sampled_from((0.0, 1.0, 17.5)))
    return RecordingFacts(groups, seconds, events, frozenset(draw(st.sets(st.sampled_from("abc")))))


@given(facts())
@settings(max_examples=60)
def test_nothing_differs_from_itself(own):
    found = compare(own, own)
    assert {one.change.verdict for one in found.differences} <= {ChangeVerdict.SAME, ChangeVerdict.TOO_FEW}
    assert found.changes == () and not found.other_fields
    assert all(one.change.least == 1 and one.a == one.b for one in found.differences)
    assert {one.group for one in found.differences} == set(own.groups)


def mirrored(one: Difference) -> Difference:
    factor = one.change.factor
    other = math.inf if not factor else 0.0 if math.isinf(factor) else 1 / factor
    return one._replace(a=one.b, b=one.a, change=one.change._replace(factor=other))


def rounded(one: Difference) -> tuple[object, ...]:
    change = one.change
    return (*one[:-1], f"{change.factor:.9g}", f"{change.least:.6g}", change.verdict)


@given(facts(), facts())
@settings(max_examples=60)
def test_swapped_recordings_have_mirrored_differences(a, b):
    there, back = compare(a, b), compare(b, a)
    assert sorted(map(rounded, map(mirrored, there.differences)), key=str) == sorted(
        map(rounded, back.differences), key=str
    )
    assert set(there.groups) == {*a.groups, *b.groups}


@given(COUNTS, COUNTS, TIMES, TIMES)
def test_the_least_factor_lies_between_one_and_what_was_seen(a, b, seconds, other):
    change = compare_portions(Portion(a, seconds), Portion(b, other), NEED)
    assert 1 <= change.least <= change.size * (1 + 1e-9)
    assert (change.verdict is ChangeVerdict.CHANGED) == (change.least >= FLOOR)


@given(st.integers(1, 60), TIMES, TIMES)
def test_what_is_in_one_alone_is_as_improbable_as_the_binomial_says(number, seconds, other):
    """With none in A, all fall into B by chance with the probability of B's part of the time, to their power."""
    change = compare_portions(Portion(0, seconds), Portion(number, other), NEED)
    part = FLOOR * other / (seconds + FLOOR * other)
    assert (change.verdict is ChangeVerdict.CHANGED) == (part**number <= math.exp(-NEED) * (1 + 1e-9))


def test_chance_alone_changes_no_table_of_a_hundred():
    """Rates, shares and percentiles of the same source, at all sizes, 2,000 comparisons: at most `RISK` of tables."""
    chance, found, need = random.Random(1), 0, evidence(20)
    generator = np.random.default_rng(1)
    for _ in range(100):
        size = chance.choice((5, 50, 500))
        changes = []
        for _ in range(7):
            a, b = (int(generator.poisson(size)) for _ in range(2))
            changes.append(compare_portions(Portion(a, 1.0), Portion(b, 1.0), need))
            share = chance.choice((0.02, 0.5, 0.9))
            a, b = (int(generator.binomial(size, share)) for _ in range(2))
            changes.append(compare_shares(Portion(a, size), Portion(b, size), need))
            own, other = ((generator.pareto(1.2, size) * 1000 + 1).astype(np.int64).tolist() for _ in range(2))
            part = chance.choice((50, 90, 99))
            changes.append(compare_quantiles(distribution(own), distribution(other), part, need))
        found += any(one.verdict is ChangeVerdict.CHANGED for one in changes)
    assert found <= 100 * RISK


@given(st.integers(1, 400), st.sampled_from((10, 50, 90, 99)))
@settings(max_examples=60)
def test_the_range_of_a_percentile_has_the_coverage_that_it_claims(count, part):
    """Of distinct numbers, each bound is a rank: the exact binomial tail beyond it is as small as was asked for."""
    low, high = quantile_range(distribution(list(range(1, count + 1))), part, NEED)
    share, tail = Fraction(part, 100), Fraction(math.exp(-NEED)) * Fraction(1001, 1000)

    def probability(ranks: range) -> Fraction:
        return sum((comb(count, k) * share**k * (1 - share) ** (count - k) for k in ranks), Fraction(0))

    if low:
        assert probability(range(int(low * 32 / 33))) <= tail
    if math.isfinite(high):
        assert probability(range(math.ceil(high), count + 1)) <= tail
    assert low <= distribution(list(range(1, count + 1))).quantile(part) <= high


def test_known_changes_are_found_and_sorted_by_what_is_proven():
    a = RecordingFacts(
        {
            ("read", "f"): GroupFacts(
                500, {"ret": numbers_of([512] * 500).named(number_text)}, numbers_of([1000] * 500)
            )
        },
        10.0,
        500,
        frozenset(("read", "only_a", "rare")),
    )
    values = numbers_of([4096] * 400 + [-2] * 100).named(lambda value, _: "-ENOENT" if value == -2 else str(value))
    groups = {
        ("read", "f"): GroupFacts(500, {"ret": values}, numbers_of([9000] * 500)),
        ("rare", "g"): GroupFacts(2),
        ("new", "g"): GroupFacts(300),
    }
    found = compare(a, RecordingFacts(groups, 10.0, 802, frozenset(("read", "rare", "new"))))
    verdicts = {(one.group[0], one.aspect, one.item): one.change.verdict for one in found.differences}
    assert verdicts["read", Aspect.RATE, ""] is ChangeVerdict.SAME
    assert verdicts["read", Aspect.SHARE, "-ENOENT"] is ChangeVerdict.CHANGED
    assert verdicts["read", Aspect.SIZE, "p50"] is ChangeVerdict.CHANGED
    assert verdicts["read", Aspect.LATENCY, "p50"] is ChangeVerdict.CHANGED
    assert verdicts["rare", Aspect.RATE, ""] is ChangeVerdict.TOO_FEW
    assert verdicts["new", Aspect.RATE, ""] is ChangeVerdict.UNRECORDED
    (new,) = (one for one in found.differences if one.group[0] == "new")
    assert new.is_unrecorded == (True, False)
    assert number_texts(new)[0] == "not recorded" and number_texts(new)[1].endswith("/s")
    assert next(group_lines(found, new.group)).a == "not recorded"
    new_object = difference_object(new, ())
    assert (new_object["a"], new_object["b"], new_object["factor"]) == (None, new.b, None)
    least = [one.change.least for one in found.changes]
    assert least == sorted(least, reverse=True) and found.differences[: len(least)] == found.changes


def test_other_fields_and_things_of_one_alone_are_said():
    own = RecordingFacts({("e",): GroupFacts(900)}, 1.0, 900, frozenset("ef"), {"e": frozenset(("count", "ret"))})
    other = RecordingFacts({("f",): GroupFacts(900)}, 1.0, 900, frozenset("ef"), {"e": frozenset(("ret", "pos"))})
    found = compare(own, other)
    assert found.other_fields == {"e": (frozenset(("count",)), frozenset(("pos",)))}
    assert "e has other fields: count only in A; pos only in B" in list(head_lines(found, ("a.pwr", "b.pwr")))
    assert {one.group[0]: change_text(one.change) for one in found.changes} == {"e": "only in A", "f": "only in B"}
    alone = compare(own, other._replace(groups={}, recorded=frozenset("f")))
    assert [change_text(one.change) for one in alone.differences] == ["only A records it"]


def test_the_time_between_two_boots_is_no_recorded_time():
    time = RecordedTime()
    for stamps in ([100, 50], [120], [110, 400]):
        time.take(np.array(stamps, np.int64))
    assert time.nanoseconds == 350
    time.begin_anew()
    for stamps in ([7], [7, 9]):
        time.take(np.array(stamps, np.int64))
    assert time.nanoseconds == 352


def test_texts_that_others_may_exceed_are_not_compared():
    """Of a thousand texts, each once, none is the most frequent one."""
    few, many = ["x"] * 500, [str(number) for number in range(1000)]
    facts_of = [
        RecordingFacts({("e",): GroupFacts(len(texts), {"path": texts_of(texts).named()})}, 1.0, 1, frozenset("e"))
        for texts in (few + many, many)
    ]
    shares = [one for one in compare(*facts_of).differences if one.aspect is Aspect.SHARE]
    assert [(one.item, one.b, one.change.verdict) for one in shares] == [("x", 0.0, ChangeVerdict.CHANGED)]


def test_lost_events_make_a_rate_unsure():
    def facts_with(count: int, lost: int) -> RecordingFacts:
        return RecordingFacts({("e",): GroupFacts(count)}, 10.0, count, frozenset("e"), lost=lost)

    (rate,) = compare(facts_with(1000, 0), facts_with(300, 100)).differences
    assert rate.change.verdict is ChangeVerdict.CHANGED
    (rate,) = compare(facts_with(1000, 0), facts_with(300, 700)).differences
    assert rate.change.verdict is ChangeVerdict.LOSSES
    (rate,) = compare(facts_with(1000, 700), facts_with(300, 0)).differences
    assert rate.change.verdict is ChangeVerdict.CHANGED  # more in A makes the difference greater


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-5000, 5000), max_size=200))
def test_numbers_are_counted_exactly(values):
    found = numbers_of(values)
    shares = found.named(number_text)
    assert (found.number, found.total) == (len(values), sum(values))
    assert (found.least, found.most) == (min(values, default=None), max(values, default=None))
    assert found.sizes.count == sum(value > 0 for value in values)
    hits = {name: count.hits for name, count in shares.shares.items()}
    assert hits.get("0", 0) == values.count(0)
    assert hits.get("negative", 0) == sum(value < 0 for value in values)


def test_the_largest_unsigned_numbers_are_counted():
    found = NumberCounts(FIELD)
    found.add(np.array([(1 << 64) - 1, 3], np.uint64))
    found.add(np.array([-1], np.int64))
    assert (found.number, found.least, found.most, found.total) == (3, -1, (1 << 64) - 1, (1 << 64) + 1)


@pytest.mark.parametrize("number", [64, 65])
def test_names_are_known_of_few_distinct_numbers(number):
    found = numbers_of(list(range(number))).named(lambda value, _: f"NAME{value!r}")
    assert (found.names is None) == (number > 64)
