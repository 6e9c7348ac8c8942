"""The text of a time line: levels by logarithm, a ruler of round times, the lines for any size."""

from __future__ import annotations

import itertools
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.timeline.time_window import TimeWindow
from widgets.safe_text import width
from widgets.timeline.chart import LOOKS
from widgets.timeline.chart_lines import LEVELS, ChartLane, ChartLayout, ChartLines, ChartPicture, level_of
from widgets.timeline.ruler import ruler_text, seconds_of, step_of, ticks_of


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9), st.integers(1, 64))
def test_a_level_rises_with_the_count_and_one_event_is_seen(low, high, most, highest):
    low, high = sorted((low, high))
    most = max(high, most)
    assert level_of(low, most, highest) <= level_of(high, most, highest) <= highest
    assert (level_of(low, most, highest) == 0) == (low == 0)
    assert most == 0 or level_of(most, most, highest) == highest


@given(st.integers(0, 10**13), st.integers(0, 10**13), st.integers(10, 300), st.integers(0, 10**12))
def test_times_of_the_ruler_are_round_apart_and_in_their_cells(start, span, cells, shift):
    window = TimeWindow.of(start + shift, start + shift + span, cells)
    ticks = ticks_of(window.start, window.span, cells, window.cell, shift)
    text = ruler_text(ticks, cells)
    assert len(text) == cells
    for tick in ticks:
        place = int(Decimal(tick.text) * 10**9) + shift
        assert window.cell(place) == tick.cell
        assert text[tick.cell] == "│"
        assert text[tick.cell + 1 :].startswith(tick.text[: max(0, cells - tick.cell - 1)]) or tick is ticks[-1]
    gaps = [later.cell - earlier.cell - len(earlier.text) for earlier, later in itertools.pairwise(ticks)]
    assert all(gap >= 2 for gap in gaps)


@given(st.integers(0, 10**13), st.integers(1, 10**15), st.integers(1, 300))
def test_a_step_is_the_least_round_one_with_room(start, span, cells):
    def has_room(step: int) -> bool:
        return step * cells >= (len(seconds_of(start + span, step)) + 3) * span

    step = step_of(start, span, cells)
    assert str(step).rstrip("0") in ("1", "2", "5")
    assert has_room(step)
    smaller = {"1": step // 2, "2": step // 2, "5": step * 2 // 5}[str(step)[0]]
    assert step == 1 or not has_room(smaller)


@pytest.mark.parametrize(
    ("ns", "step", "text"),
    [(12_304_117_003, 1, "12.304117003"), (12_304_000_000, 1_000_000, "12.304"), (12 * 10**9, 10**9, "12"),
     (20 * 10**9, 10 * 10**9, "20"), (500_000_000, 500_000_000, "0.5"), (1_000_000_020, 20, "1.00000002")],
)  # fmt: skip
def test_seconds_have_the_digits_of_the_step(ns, step, text):
    assert seconds_of(ns, step) == text


@st.composite
def pictures(draw: st.DrawFn) -> tuple[ChartPicture, ChartLayout]:
    layout = ChartLayout.of(draw(st.integers(1, 250)), draw(st.integers(1, 70)), gaps=draw(st.booleans()))
    cells = layout.cells
    counts = st.lists(st.sampled_from([0, 0, 1, 2, 50, 10**6]), min_size=cells, max_size=cells)
    masks = st.lists(st.booleans(), min_size=cells, max_size=cells) if cells < 60 else st.just([False] * cells)
    number = draw(st.integers(0, min(layout.lanes, 4)))
    lanes = [ChartLane(f"lane {n} of many", found, sum(found)) for n in range(number) if (found := draw(counts))]
    every = [sum(column) for column in zip(*(lane.counts for lane in lanes), strict=True)] or [0] * cells
    window = TimeWindow.of(10**9, 2 * 10**9, cells)
    begin = draw(st.integers(0, cells))
    heads = {2: "by task"} if number > 1 and number < layout.lanes and draw(st.booleans()) else {}
    picture = ChartPicture(
        "by event", ticks_of(window.start, window.span, cells, window.cell),
        ChartLane("all", every, sum(every)), lanes, heads, draw(masks), draw(masks), draw(masks),
        draw(st.integers(-1, cells)), draw(st.integers(0, number)), range(begin, draw(st.integers(begin, cells))),
    )  # fmt: skip
    return picture, layout.for_lanes(len(lanes), heads)


@given(pictures())
def test_each_line_has_its_columns_and_each_cell_a_bar_if_it_has_events(made):
    picture, layout = made
    lines = ChartLines(picture, layout).lines
    assert len(lines) == 1 + layout.graph + layout.gaps + len(picture.lanes) * layout.height + len(picture.heads)
    for line in lines:
        text = "".join(piece.text for piece in line)
        assert width(text) == layout.names + layout.cells
        assert {word for piece in line for word in piece.look.split()} <= LOOKS.keys()
    for row, lane in enumerate([picture.every, *picture.lanes]):
        found = [number for number in range(len(lines)) if layout.row_at(number) == row]
        bottom = "".join(piece.text for piece in lines[found[-1]])[layout.names :]
        for char, count, out in zip(bottom, lane.counts, picture.outages, strict=True):
            assert (char in LEVELS[1:]) == (count > 0)
            assert count or (char == "░") == out
