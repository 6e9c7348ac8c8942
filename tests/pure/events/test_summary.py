"""What is counted of events equals what a naive count gives."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from events.summary.distribution import Distribution, PowerOfTwo
from events.summary.frequent import FrequentValues
from events.summary.keys import value_keys
from events.summary.timeline import Timeline
from events.summary.values import BootValues

NUMBERS = st.one_of(
    st.integers(0, 100), st.integers(0, (1 << 64) - 1), st.integers(0, 64).map(lambda n: (1 << n) - 1)
)


def _ceil_log2(number: int) -> int:
    """hist_field_log2: ilog2(roundup_pow_of_two(number))."""
    return (number - 1).bit_length() if number else 0


@given(st.lists(st.lists(NUMBERS, max_size=30), max_size=4))
def test_a_distribution_is_that_of_the_sorted_numbers(pieces):
    found = Distribution()
    for piece in pieces:
        found.add(np.array(piece, np.uint64))
    numbers = sorted(number for piece in pieces for number in piece)
    assert (found.count, found.total) == (len(numbers), sum(numbers))
    by_power = Counter(map(_ceil_log2, numbers))
    assert {power.exponent: power.hits for power in found.powers if power.hits} == by_power
    if not numbers:
        assert found.powers == () and found.quantile(50) == found.mean == 0
        return
    assert found.most == numbers[-1]
    assert [power.exponent for power in found.powers] == list(range(min(by_power), max(by_power) + 1))
    for part in (1, 50, 90, 99, 100):
        true = max(numbers[max(1, math.ceil(Fraction(part, 100) * len(numbers))) - 1], min(1, numbers[-1]))
        assert true <= found.quantile(part) <= true + true // 32 + (true > 64)


def test_negative_numbers_count_as_zero():
    found = Distribution()
    found.add(np.array([-5, 3], np.int64))
    assert found.powers == (PowerOfTwo(0, 1), PowerOfTwo(1, 0), PowerOfTwo(2, 1))


@given(st.lists(st.lists(st.integers(0, 40), max_size=40), max_size=12), st.integers(1, 50))
@settings(max_examples=200)
def test_frequent_values_never_claim_what_is_not_so(pieces, limit):
    found, true = FrequentValues(limit), Counter[int]()
    new = []
    for piece in pieces:
        new += found.add(np.array(piece, np.uint64)).tolist()
        true.update(piece)
        assert len(found) <= 2 * limit
    top = found.top(100)
    assert found.total == true.total() == sum(one.hits for one in top) + found.uncounted
    assert all(one.hits <= true[one.key] <= one.hits + one.error for one in top)
    assert all(true[key] <= found.floor for key in true if key not in {one.key for one in top})
    assert set(true) <= set(new)
    if len(true) <= 2 * limit:
        assert found.exact and {one.key: one.hits for one in top} == true
    assert [one.hits for one in top] == sorted((one.hits for one in top), reverse=True)
    assert found.rest(3) == found.total - sum(one.hits for one in top[:3])


def test_a_value_far_more_frequent_than_others_is_found_among_any_number():
    found = FrequentValues(64)
    for n in range(200):
        found.add(np.concatenate([np.arange(n * 500, (n + 1) * 500), np.full(20, 1 << 40)]).astype(np.uint64))
    best = found.top(1)[0]
    assert best.key == 1 << 40 and best.hits == 200 * 20 and not found.exact


@given(
    st.lists(st.lists(st.tuples(st.sampled_from("ab"), st.integers(-50, 5000)), max_size=20), max_size=6),
    st.sampled_from([2, 4, 16]),
)
def test_a_timeline_counts_each_event_once_in_its_interval(pieces, buckets):
    line, true = Timeline(finest=10, buckets=buckets), []
    for piece in pieces:
        for kind in "ab":
            line.add(kind, np.array([ts for k, ts in piece if k == kind], np.int64))
            true += [(k, ts) for k, ts in piece if k == kind]
    assert line.used <= buckets
    for kind in "ab":
        expected = [0] * line.used
        for k, ts in true:
            assert line.start is not None
            if k == kind:
                expected[(ts - line.start) // line.width] += 1
        assert line.counts(kind) == expected
        assert line.total(kind) == sum(expected)


@given(st.lists(st.one_of(st.text(max_size=5), st.none(), st.binary(max_size=3)), max_size=30))
def test_values_of_any_kind_come_back_from_their_keys(values):
    found = value_keys(values)
    known = found.values(np.unique(found.keys))
    assert Counter(repr(known[key]) for key in found.keys.tolist()) == Counter(map(repr, values))


def test_texts_that_came_equally_often_stand_in_the_order_of_their_text():
    found = BootValues()
    names = [f"/proc/{letter}" for letter in "qwertyuiopas"]
    found.add(value_keys([*names, "/tmp/last", *reversed(names), "/tmp/last", "/tmp/last"]))
    assert [(top.value, top.hits) for top in found.top(4)] == [
        *(("/tmp/last", 3), ("/proc/a", 2), ("/proc/e", 2), ("/proc/i", 2))
    ]
    assert [top.value for top in found.top(99)] == ["/tmp/last", *sorted(names)]
    assert found.top(0) == []
