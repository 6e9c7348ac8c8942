"""Rows of a selection against a list of them, whatever is added and dropped."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.search.row_numbers import RowNumbers

STEPS = st.lists(st.tuples(st.lists(st.integers(1, 4), max_size=1500), st.integers(0, 3000)), max_size=6)
"""Distances of the numbers that are added, and how far the oldest that is kept moves on."""


@given(STEPS, st.integers(0, 3))
def test_rows_keep_their_numbers(steps: list[tuple[list[int], int]], begin: int) -> None:
    kept, model = RowNumbers(begin), list[int]()
    newest = oldest = first = 0
    for distances, gone in steps:
        added = newest + np.cumsum(np.array(distances, np.int64))
        kept.add(added)
        model += added.tolist()
        newest = model[-1] if model else 0
        oldest = min(oldest + gone, newest + 1)
        first = sum(number < oldest for number in model)
        assert kept.drop_before(oldest) == begin + first
    assert kept.next == begin + len(model)
    assert [kept.number(begin + row) for row in range(first, len(model))] == model[first:]
    for row in (begin + first - 1, kept.next):
        with pytest.raises(IndexError):
            kept.number(row)
    asked = np.arange(oldest, newest + 3)
    assert asked[kept.has(asked)].tolist() == model[first:]
    assert [kept.at(number) for number in asked.tolist()] == [
        begin + first + int(np.searchsorted(model[first:], number)) for number in asked.tolist()
    ]
    even = asked % 2 == 0
    wanted = [row for row, number in enumerate(model) if number >= oldest and number % 2 == 0]
    assert kept.first_of(even, oldest) == (begin + wanted[0] if wanted else None)
