"""Events of several machines in one order, and how far their clocks are from ours."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from events.clocks.clock_offset import DRIFT_PPM, Clock, ClockReading, ClockTimeline, offset_of
from events.store.host_merge import HostMerger, MergedRow, MergedRows

times = st.integers(0, 10**15)
delays = st.integers(0, 10**9)


@given(true=st.integers(-(10**15), 10**15), before=times, there=delays, back=delays, resolution=st.integers(0, 10**6))
def test_the_truth_is_within_what_a_reading_says(true, before, there, back, resolution):
    far = before + there - true
    cut = far - far % resolution if resolution else far
    found = offset_of(ClockReading(before, cut, before + there + back, resolution))
    assert abs(found.ns - true) <= found.uncertainty
    assert found.uncertainty <= (there + back + resolution) // 2 + 2, "and no less sure than half of the round trip"


@given(
    st.lists(st.tuples(times, delays, delays), min_size=1, max_size=20),
    st.integers(-(10**15), 10**15),
    st.integers(-DRIFT_PPM, DRIFT_PPM),
)
def test_the_truth_stays_within_while_a_clock_drifts(looks, start, ppm):
    """The far clock runs faster or slower: what is said of it now holds now."""
    clock = Clock()
    looks.sort()
    for before, there, back in looks:
        read = before + there
        clock.add([ClockReading(before, read - start - read * ppm // 1_000_000, before + there + back)])
    now = max(before + there + back for before, there, back in looks)
    found = clock.offset(now)
    assert found is not None
    true = start + now * ppm // 1_000_000
    assert abs(found.ns - true) <= found.uncertainty + 2, "but for what the test cuts off itself"


def test_the_surest_reading_counts_until_it_is_old():
    clock = Clock()
    assert clock.offset(0) is None
    clock.add([ClockReading(0, 0, 1_000_000), ClockReading(10**9, 10**9 - 500, 10**9 + 100)])
    at_once = clock.offset(10**9)
    assert at_once is not None and at_once.uncertainty <= 302
    clock.add([ClockReading(2 * 10**9, 2 * 10**9, 2 * 10**9 + 100_000)])
    assert clock.offset(2 * 10**9 + 100_000).ns == 50_000, "half a millisecond of drift later the new one is surer"


def test_a_better_offset_does_not_turn_the_order_of_one_machine():
    line = ClockTimeline()
    first = line.near(np.array([100, 200], np.int64), 1000, 10**6)
    second = line.near(np.array([210, 220, 400], np.int64), 900, 10**6)
    assert first.tolist() == [1100, 1200]
    assert second.tolist() == [1200, 1200, 1300]
    assert line.near(np.array([500], np.int64), 900, 1350).tolist() == [1350], "it can't come before it happened"


def drained(merger: HostMerger, rows: MergedRows, now: int | None) -> list[MergedRow]:
    first = rows.next
    rows.append(merger.flush() if now is None else merger.take(now))
    return [rows.row(number) for number in range(first, rows.next)]


def test_events_wait_for_older_ones_of_other_machines():
    merger, rows = HostMerger(window=100), MergedRows()
    merger.add(0, np.array([10, 30, 50]), 0)
    assert drained(merger, rows, 100) == []
    merger.add(1, np.array([20, 40]), 7)
    assert drained(merger, rows, 130) == [
        MergedRow(0, 0, 10, False),
        MergedRow(1, 7, 20, False),
        MergedRow(0, 1, 30, False),
    ]
    merger.add(1, np.array([25]), 9)
    assert drained(merger, rows, 135) == [MergedRow(1, 9, 25, True)], "too late, and shown all the same"
    assert dict(merger.late_events) == {1: 1}
    assert [row.ts for row in drained(merger, rows, None)] == [40, 50]
    assert len(merger) == 0


arrivals = st.lists(
    st.tuples(st.integers(0, 3), st.lists(st.integers(0, 1000), min_size=1, max_size=6), st.integers(0, 300)),
    max_size=30,
)


@given(arrivals, st.integers(0, 500))
def test_nothing_is_lost_and_only_what_is_late_is_out_of_order(passes, window):
    merger, rows, now = HostMerger(window), MergedRows(), 0
    sent: dict[tuple[int, int], int] = {}
    next_seq = [0] * 4
    in_time = set()
    given_up_to = -1
    for host, stamps, pause in passes:
        now += pause
        merger.add(host, np.array(stamps, np.int64), next_seq[host])
        for ts in stamps:
            sent[host, next_seq[host]] = ts
            if ts >= given_up_to:
                in_time.add((host, next_seq[host]))
            next_seq[host] += 1
        for row in drained(merger, rows, now):
            given_up_to = max(given_up_to, row.ts)
    drained(merger, rows, None)
    got = [rows.row(number) for number in range(rows.first, rows.next)]
    assert {(row.host, row.seq): row.ts for row in got} == sent
    assert len(got) == len(sent)
    punctual = [row.ts for row in got if not row.late]
    assert punctual == sorted(punctual)
    assert {(row.host, row.seq) for row in got if not row.late} == in_time
    assert sum(merger.late_events.values()) == sum(row.late for row in got)


def test_merged_rows_are_bounded_and_keep_their_numbers():
    rows, merger = MergedRows(limit_bytes=200_000), HostMerger(window=0)
    for begin in range(0, 50_000, 1000):
        merger.add(0, np.arange(begin, begin + 1000), begin)
        rows.append(merger.take(10**9))
    assert rows.next == 50_000 and rows.first > 30_000
    assert rows.row(rows.first).seq == rows.first
