"""Groups and their sums equal those of a dictionary of Python numbers."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from events.aggregates.groups import OTHERS, Groups, ValueColumn
from events.aggregates.request import NEGATIVE

KEYS = st.one_of(st.integers(0, 6), st.sampled_from([1 << 63, (1 << 64) - 1, 1 << 62, 1 << 61]))
SIGNED = st.one_of(
    st.integers(-5, 5), st.integers(-(1 << 63), (1 << 63) - 1), st.integers(0, 62).map(lambda n: 1 << n)
)
UNSIGNED = st.one_of(st.integers(0, 9), st.integers(0, (1 << 64) - 1), st.integers(0, 64).map(lambda n: (1 << n) - 1))


@st.composite
def pieces(draw):
    """Pieces of rows: keys, and a signed, an unsigned or no value of each of two names."""
    keys = draw(st.integers(0, 3))
    value = st.one_of(st.none(), SIGNED.map(lambda n: ("s", n)), UNSIGNED.map(lambda n: ("u", n)))
    row = st.tuples(st.tuples(*([KEYS] * keys)), value, value)
    piece = st.tuples(st.integers(0, 1), st.lists(row, max_size=30))
    return keys, draw(st.lists(piece, max_size=6))


def _columns(values):
    """Columns of the signed and of the unsigned numbers of some rows."""
    found = []
    for kind, dtype in (("s", np.int64), ("u", np.uint64)):
        present = np.array([value is not None and value[0] == kind for value in values], np.bool_)
        numbers = np.array([value[1] if value is not None and value[0] == kind else 0 for value in values], dtype)
        found.append(ValueColumn(numbers, None if present.all() else present))
    return found


def _power(number: int) -> int:
    return NEGATIVE if number < 0 else (number - 1).bit_length() if number else 0


@given(pieces(), st.sampled_from([2, 7, 1000]))
@settings(max_examples=120)
def test_groups_are_those_of_a_dictionary(rows, limit):
    number, found = rows
    groups = Groups(number, [True, False], limit)
    true: dict[tuple[int, tuple[int, ...]], tuple[Counter[str], list[int], list[int]]] = defaultdict(
        lambda: (Counter(), [], [])
    )
    for source, piece in found:
        keys = np.array([key for key, _, _ in piece], np.uint64).reshape(len(piece), number)
        groups.add(source, keys, [_columns([a for _, a, _ in piece]), _columns([b for _, _, b in piece])])
        for key, *values in piece:
            counter, *lists = true[source, key]
            counter["rows"] += 1
            for values_of_key, value in zip(lists, values, strict=True):
                values_of_key += [] if value is None else [value[1]]
    assert len(groups) - 1 == min(len(true), limit)
    named = {}
    for group in range(1, len(groups)):
        named[groups.sources[group], tuple(groups.keys[group].tolist())] = group
    assert len(named) == len(groups) - 1, "no group is there twice"
    others = [key for key in true if key not in named]
    of_group = {group: [key] for key, group in named.items()} | {OTHERS: others}
    for group, keys_of_group in of_group.items():
        assert groups.counts[group] == sum(true[key][0]["rows"] for key in keys_of_group) if keys_of_group else True
        for n in (0, 1):
            numbers = [value for key in keys_of_group for value in true[key][n + 1]]
            total = groups.values[n].total(group)
            assert (total.number, total.sum) == (len(numbers), sum(numbers))
            assert (total.least, total.most) == (min(numbers, default=None), max(numbers, default=None))
            by_power = Counter(map(_power, numbers)) if n == 0 else Counter()
            assert {power.exponent: power.hits for power in total.powers if power.hits} == by_power
            assert total.mean == (sum(numbers) / len(numbers) if numbers else None)


@given(pieces(), st.data())
def test_merged_groups_have_the_sums_of_both(rows, data):
    number, found = rows
    groups = Groups(number, [True, False], 1000)
    for source, piece in found:
        keys = np.array([key for key, _, _ in piece], np.uint64).reshape(len(piece), number)
        groups.add(source, keys, [_columns([a for _, a, _ in piece]), _columns([b for _, _, b in piece])])
    to = [data.draw(st.integers(0, 2)) for _ in range(len(groups))]
    merged = groups.merged(np.array(to, np.int64), 3)
    for row in range(3):
        own = [group for group, target in enumerate(to) if target == row]
        assert merged.counts[row] == sum(groups.counts[group] for group in own)
        for sums, before in zip(merged.values, groups.values, strict=True):
            total, parts = sums.total(row), [before.total(group) for group in own]
            assert (total.number, total.sum) == (sum(p.number for p in parts), sum(p.sum for p in parts))
            least = [p.least for p in parts if p.least is not None]
            most = [p.most for p in parts if p.most is not None]
            assert (total.least, total.most) == (min(least, default=None), max(most, default=None))
            hits: Counter[int] = Counter()
            for part in parts:
                hits.update({power.exponent: power.hits for power in part.powers})
            assert {p.exponent: p.hits for p in total.powers if p.hits} == {n: hits[n] for n in hits if hits[n]}


def test_a_group_that_has_room_is_exact_beside_others():
    groups = Groups(1, [False], 2)
    for start in (0, 1, 2):
        keys = np.array([[start], [start], [0]], np.uint64)
        groups.add(0, keys, [[ValueColumn(np.array([1, 2, 1 << 62], np.int64))]])
    assert groups.counts.tolist() == [2, 5, 2]
    assert [groups.values[0].total(group).sum for group in range(3)] == [3, 3 + 3 * (1 << 62), 3]
