"""Spans of what was lost: joined, found, forgotten."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from events.losses import UNKNOWN_TASK, NewestTask, newest_task
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


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), st.booleans()), max_size=20), st.integers(0, 70))
def test_a_task_known_as_younger_than_a_loss_was_created_after_it(
    steps: list[tuple[int, int, bool]], before: int
) -> None:
    """A model: the number of the step is the newest task then, and a loss has ended when it is told."""
    gaps, now = Gaps(), 0
    losses: list[tuple[int, int, int]] = []
    for number, (passed, back, is_loss) in enumerate(steps):
        now += passed
        if is_loss:
            span = max(0, now - back), now
            gaps.add(*span)
            losses.append((*span, number))
        else:
            newest = NewestTask()
            gaps.add_newest_task(now, newest)
            newest.id = number
    after = max((told for _, _, told in losses), default=-1)
    assert gaps.lacks_newest_task(-1) == (bool(losses) and all(is_loss for *_, is_loss in steps[after:]))
    for forgotten in (False, True):
        for ts in range(now + 1):
            told = max((told for start, _, told in losses if start <= ts), default=-1)
            assert gaps.newest_task(ts, -1) >= told
            if ts == now and not gaps.lacks_newest_task(-1) and losses:
                assert gaps.newest_task(ts, -1) != UNKNOWN_TASK
        if not forgotten and before <= now:
            gaps.forget(before)


def test_events_that_were_dropped_are_a_loss_as_well() -> None:
    gaps, early, late = Gaps(), NewestTask(), NewestTask()
    assert not gaps.lacks_newest_task(-1) and gaps.lacks_newest_task(50)
    gaps.add_newest_task(40, early)
    gaps.add_newest_task(60, late)
    early.id, late.id = 700, 800
    assert not gaps.lacks_newest_task(50)
    assert gaps.newest_task(70, 50) == 800, "the first one was read before"
    late.id = UNKNOWN_TASK
    assert gaps.newest_task(70, 50) == UNKNOWN_TASK


def test_the_newest_task_is_known_as_long_as_ids_never_began_anew() -> None:
    loadavg, stat = "0.20 0.18 0.12 1/80 11206\n", "cpu  1 2\nprocesses 11204\nprocs_running 1\n"
    listed = ["1", "11206", "cpuinfo", "self", "2\N{SUPERSCRIPT TWO}"]
    assert newest_task(loadavg, stat, "0-1\n", listed) == 11206
    assert newest_task(loadavg, stat.replace("11204", "11208"), "0-1\n", listed) == 11206, "two idle tasks"
    assert newest_task(loadavg, stat.replace("11204", "11209"), "0-1\n", listed) == UNKNOWN_TASK, "more than ids"
    assert newest_task(loadavg, stat, "0-1\n", [*listed, "32700"]) == UNKNOWN_TASK, "older than the newest"
    for broken in (("", stat, "0"), (loadavg, "cpu 1\n", "0"), (loadavg, stat, ""), ("9" * 5000, stat, "0")):
        assert newest_task(*broken, listed) == UNKNOWN_TASK
