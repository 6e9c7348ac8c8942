"""Spans of what was lost: joined, found, forgotten."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from events.store.gaps import Gaps

SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)).map(lambda s: (s[0], s[0] + s[1])), max_size=12)


@given(SPANS, st.integers(0, 70), st.integers(0, 9), st.integers(0, 70))
def test_as_a_plain_list_would_say(spans: list[tuple[int, int]], start: int, length: int, before: int) -> None:
    gaps = Gaps()
    for span in spans:
        gaps.add(*span)
    end = start + length
    assert gaps.between(start, end) == any(a <= end and b >= start for a, b in spans)
    assert len(gaps) <= len(spans)
    gaps.forget(before)
    assert gaps.between(start, end) >= any(a <= end and b >= start for a, b in spans)
    if start >= before:
        assert gaps.between(start, end) == any(a <= end and b >= start for a, b in spans)
    assert len(gaps) <= sum(b >= before for _, b in spans)


def test_an_end_before_its_start_is_a_point() -> None:
    gaps = Gaps()
    gaps.add(7, 3)
    assert gaps.between(7, 7)
    assert not gaps.between(0, 6)


def test_where_time_went_back_something_may_have_been_lost() -> None:
    assert Gaps().between(1000, 10)
    assert not Gaps().between(10, 1000)


@given(SPANS, st.lists(st.integers(0, 70), max_size=20), st.integers(0, 70))
def test_many_times_as_one_by_one(spans: list[tuple[int, int]], times: list[int], before: int) -> None:
    gaps = Gaps()
    for span in spans:
        gaps.add(*span)
    gaps.forget(before)
    stamps = sorted(times)
    wanted = [False, *(gaps.between(a, b) for a, b in pairwise(stamps))][: len(stamps)]
    assert gaps.before(np.array(stamps, np.int64)).tolist() == wanted
