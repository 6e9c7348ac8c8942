"""The pane of details: on which screens it stands where, and how much is left for the rows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from events.calls.call_values import Call, UnpairedReason
from tui.live.details.call_end import end_of
from tui.live.details.place import LEAST_COLUMNS, PanePlace, place_of, size_of


def test_small_screens_have_none_and_wide_ones_have_it_beside_the_rows():
    assert place_of(80, 24) is PanePlace.NONE
    assert place_of(LEAST_COLUMNS - 1, 60) is PanePlace.NONE
    assert place_of(120, 40) is PanePlace.BELOW
    assert place_of(120, 24) is PanePlace.BESIDE, "a few rows are too many to lose"
    assert place_of(200, 60) is PanePlace.BESIDE


@given(st.integers(1, 500), st.integers(1, 200))
def test_the_rows_keep_most_of_the_screen(columns, rows):
    place = place_of(columns, rows)
    size = size_of(place, columns, rows)
    whole = columns if place is PanePlace.BESIDE else rows
    assert (size == 0) == (place is PanePlace.NONE)
    assert size <= whole * 0.4


def test_each_end_of_a_call_or_the_reason_why_it_is_not_there():
    assert (end_of(Call(3, 5), at_exit=True), end_of(Call(3, 5), at_exit=False)) == (5, 3)
    lacking = end_of(Call(3, None, UnpairedReason.NO_EXIT), at_exit=True)
    assert lacking == f"this call has no exit here: {UnpairedReason.NO_EXIT.value}"
    assert isinstance(end_of(None, at_exit=True), str)
    assert isinstance(end_of(Call(None, 7), at_exit=True), str), "the mark of an outage has no call"
