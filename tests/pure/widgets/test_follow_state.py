"""A growing list follows, or is held at a place; what came since is counted, and its room stays free."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from widgets.lists.follow_state import FollowState


def test_while_it_follows_the_page_ends_with_the_newest_row_and_nothing_is_new():
    state = FollowState(0, 0)
    assert (state.top(10), state.new) == (0, 0)
    assert state.see(0, 25)
    assert not state.see(0, 25)
    assert (state.top(10), state.new, state.left_at) == (15, 0, 25)
    assert state.see(20, 25), "rows went at the front"
    assert state.top(10) == 20


def test_rows_since_one_stopped_are_new_until_one_follows_again():
    state = FollowState(0, 25)
    assert state.stop() == 24
    assert not state.following
    state.see(0, 40)
    assert (state.new, state.left_at) == (15, 25)
    state.resume(5, 41)
    assert state.following
    assert (state.first, state.after, state.new) == (5, 41, 0)


def test_an_empty_list_is_stopped_at_its_first_row():
    assert FollowState(7, 7).stop() == 7


def test_room_below_a_held_picture_stays_free_until_the_cursor_comes_to_a_new_row():
    state = FollowState(0, 3)
    state.stop()
    state.keeps_room = True
    state.see(0, 9)
    assert [state.is_held_back(row, top=0) for row in (2, 3, 8)] == [False, True, True]
    assert not state.is_held_back(3, top=1), "scrolled: there is no such room on the screen"
    assert not state.reach(2)
    assert state.is_held_back(3, top=0)
    assert state.reach(3)
    assert not state.is_held_back(3, top=0)
    assert not state.reach(4), "it was told once"


def test_following_gives_the_room_to_new_rows():
    state = FollowState(0, 3)
    state.stop()
    state.keeps_room = True
    state.resume(0, 9)
    assert not state.is_held_back(8, top=0)


def test_a_place_that_was_held_elsewhere_is_held_again():
    state = FollowState(0, 50)
    state.stop()
    state.hold(cursor=20, left_at=30)
    assert (state.new, state.keeps_room) == (20, True)
    state.hold(cursor=40, left_at=30)
    assert not state.keeps_room
    state.hold(cursor=40, left_at=99)
    assert state.new == 0


def test_rows_that_are_folded_away_are_no_longer_new():
    state = FollowState(0, 50)
    state.stop()
    state.see(0, 60)
    state.fold(0, 20)
    assert (state.new, state.left_at) == (0, 20)
    state.see(0, 22)
    assert state.new == 2


@given(st.lists(st.tuples(st.sampled_from(["see", "stop", "resume", "fold", "hold"]), *[st.integers(0, 99)] * 3)))
def test_new_rows_are_among_those_that_are_there(steps: list[tuple[str, int, int, int]]) -> None:
    state = FollowState(0, 0)
    for step, one, more, cursor in steps:
        if step == "see":  # numbers of rows only grow
            state.see(state.first, state.after + one)
        elif step == "stop":
            assert state.first <= state.stop() <= state.after
        elif step == "resume":
            state.resume(state.first, state.after + more)
        elif step == "fold":
            state.fold(0, one)
        else:
            state.hold(cursor, one)
        assert 0 <= state.new <= state.after
        assert state.left_at == state.after - state.new
        assert not (state.following and state.new)
