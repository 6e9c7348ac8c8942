"""How often the screen is painted: as often as it can be read, less where that costs much, never seldom."""

from hypothesis import given
from hypothesis import strategies as st

from tui.feed import SHARE, SLOWEST, TICK, pause_after


def test_a_cheap_picture_comes_at_the_usual_pace():
    assert pause_after(0.0) == pause_after(TICK * SHARE / 2) == TICK


@given(st.floats(TICK * SHARE, SLOWEST * SHARE))
def test_a_dear_one_takes_no_more_than_its_share(cost):
    assert abs(cost / pause_after(cost) - SHARE) < 1e-9


def test_however_dear_what_happens_is_soon_seen():
    assert pause_after(10.0) == SLOWEST
