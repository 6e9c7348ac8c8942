"""What of a tree is on the list, and where its time went, against plain Python."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.clocks.boots import Boots
from events.graph.begin_end_columns import RowKind, by_depth
from events.graph.hot_spots import call_times, hot_spots
from events.graph.tree import CallRow, CallRowFlag, CallTree
from events.graph.visible_rows import VisibleOptions, VisibleRows
from events.summary.distribution import Distribution
from tests.pure.events.test_graph_tree import PIECES, Event, brackets, grown, streams

WANTED = st.builds(
    VisibleOptions,
    st.none() | st.integers(1, 3),
    st.sampled_from((0, 0, 30, 200)),
    st.sampled_from((1, 2, 3, 1 << 16)),
)


class Plain(NamedTuple):
    """The list, thought of one row at a time."""

    wanted: VisibleOptions
    turned: set[int]

    def folded(self, row: CallRow) -> bool:
        return (row.level + 1 >= self.wanted.levels) != (row.row in self.turned)

    def seen(self, tree: CallTree) -> list[int]:
        rows = {n: tree.row(n) for n in range(tree.first, tree.next)}
        return [row.row for row in rows.values() if self.shows(row, rows)]

    def matters(self, row: CallRow, rows: dict[int, CallRow]) -> bool:
        """Whether it is a call or an event, or inside of a call, or around a call or an event."""
        if row.kind in (RowKind.CALL, RowKind.COMMENT):
            return True
        around = row
        while around.parent >= 0:
            around = rows[around.parent]
            if around.kind == RowKind.CALL:
                return True
        return any(self.matters(one, rows) for one in rows.values() if one.parent == row.row)

    def shows(self, row: CallRow, rows: dict[int, CallRow]) -> bool:
        if self.wanted.task not in (None, row.task):
            return False
        if self.wanted.min_duration and row.duration < self.wanted.min_duration and not row.flags & CallRowFlag.OPEN:
            return False
        if not self.matters(row, rows):
            return False
        if row.parent < 0:
            return True
        around = rows[row.parent]
        while True:
            if self.folded(around):
                return False
            if around.parent < 0:
                return True
            around = rows[around.parent]


@given(streams(), PIECES, WANTED, st.lists(st.integers(0, 60), max_size=6))
@settings(max_examples=100)
def test_what_is_on_the_list(
    events: list[Event], pieces: list[int], wanted: VisibleOptions, turns: list[int]
) -> None:
    tree = grown(events, pieces, by_depth)
    visible, plain = VisibleRows(tree, wanted), Plain(wanted, set())
    assert visible.rows.tolist() == plain.seen(tree)
    for turn in turns:
        if turn < tree.next:
            visible.fold(turn, not visible.folded(turn))
            plain.turned.symmetric_difference_update({turn})
            assert visible.folded(turn) == plain.folded(tree.row(turn))
            assert visible.rows.tolist() == plain.seen(tree)


@given(streams(), st.integers(1, 9), WANTED, st.lists(st.integers(0, 30), max_size=3))
@settings(max_examples=100)
def test_it_grows_as_it_would_have_been_made(
    events: list[Event], piece: int, wanted: VisibleOptions, turns: list[int]
) -> None:
    tree = CallTree(by_depth)
    visible = VisibleRows(tree, wanted)
    for at in range(0, len(events), piece):
        tree.take(brackets(events[at : at + piece], at))
        visible.tick()
        if turns and turns[0] < tree.next:
            row = turns.pop(0)
            visible.fold(row, not visible.folded(row))
            visible.fold(row, not visible.folded(row))
        assert visible.rows.tolist() == Plain(wanted, set()).seen(tree)


@given(streams(), PIECES, WANTED, st.integers(0, 60))
def test_a_row_that_is_searched_is_shown(
    events: list[Event], pieces: list[int], wanted: VisibleOptions, row: int
) -> None:
    tree = grown(events, pieces, by_depth)
    if row < tree.next and tree.row(row).kind in (RowKind.CALL, RowKind.COMMENT):
        visible = VisibleRows(tree, wanted)
        visible.reveal(row)
        assert row in visible.rows
        assert visible.rows[visible.place(row)] == row
        assert visible.has_inside(row) == any(tree.row(n).parent == row for n in range(tree.next))


def own_time(row: CallRow) -> int:
    """Of a call that was under way already nobody saw what was inside."""
    return 0 if row.flags & CallRowFlag.NO_ENTRY else row.self_time


@given(streams(), PIECES, st.none() | st.integers(1, 3))
def test_hot_spots(events: list[Event], pieces: list[int], task: int | None) -> None:
    tree = grown(events, pieces, by_depth)
    calls: dict[int, list[CallRow]] = {}
    for row in map(tree.row, range(tree.next)):
        if row.kind == RowKind.CALL and row.duration >= 0 and task in (None, row.task):
            calls.setdefault(row.function, []).append(row)
    found = {
        spot.function: spot
        for spot in hot_spots(call_times(tree, Boots(), task), lambda function, _: (hex(function), 0))
    }
    assert set(found) == set(map(hex, calls))
    for function, rows in calls.items():
        spot, took = found[hex(function)], sorted(row.duration for row in rows)
        assert (spot.calls, spot.total, spot.self_time) == (len(rows), sum(took), sum(map(own_time, rows)))
        assert spot.longest == took[-1]
        summed = Distribution()  # what the summary says of the same calls
        summed.add(np.array(took, np.int64))
        assert (spot.p50, spot.p99) == (summed.quantile(50), summed.quantile(99))
    own = [
        spot.self_time for spot in hot_spots(call_times(tree, Boots(), task), lambda function, _: (hex(function), 0))
    ]
    assert own == sorted(own, reverse=True)


@given(streams(), PIECES, st.integers(1, 20))
def test_hot_spots_and_what_they_leave_out_are_all_calls(events: list[Event], pieces: list[int], limit: int) -> None:
    every, some = grown(events, pieces, by_depth), grown(events, pieces, by_depth, limit)
    dropped = [every.row(row) for row in range(some.first) if every.row(row).kind == RowKind.CALL]
    timed = [row for row in dropped if row.duration >= 0]
    assert len(call_times(some, Boots()).function) + len(timed) == len(call_times(every, Boots()).function)
    assert len(timed) <= some.dropped_calls <= len(dropped)
    assert some.dropped_calls - len(timed) <= sum(
        row.duration < 0 and not row.flags & CallRowFlag.NO_ENTRY for row in dropped
    )


def test_rows_that_the_tree_drops_leave_the_list() -> None:
    tree = CallTree(by_depth, limit=50)
    visible = VisibleRows(tree)
    for at in range(0, 300, 2):
        begin, end = Event(at, 1, 0, 1, 0), Event(at + 1, 1, 1, 1, 0, duration=5)
        tree.take(brackets([begin, end], at))
        visible.tick()
    assert visible.rows.tolist() == list(range(100, 150))
    assert visible.dropped == 100
    with pytest.raises(IndexError):
        tree.row(99)
    assert np.all(tree.columns.column("duration") == 5)


def test_what_turns_out_to_be_short_while_the_picture_is_held_leaves_the_list_afterwards() -> None:
    tree = CallTree(by_depth)
    visible = VisibleRows(tree, VisibleOptions(min_duration=100))
    tree.take(brackets([Event(0, 1, 0, 1, 0)], 0))
    visible.tick(settled=False)
    tree.take(brackets([Event(5, 1, 1, 1, 0, duration=5)], 1))
    visible.tick(settled=False)
    assert visible.rows.tolist() == [0], "no row goes away below who reads"
    tree.take(brackets([Event(6, 1, 0, 2, 0)], 2))
    visible.tick(settled=True)
    assert visible.rows.tolist() == [1]
