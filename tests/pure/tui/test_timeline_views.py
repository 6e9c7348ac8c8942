"""The time line's lanes for any room, and its window under any row of keys."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from events.conditions.condition_parser import parse_condition
from events.search.filtered_rows import FilteredRows
from events.timeline.axis import TimeAxis
from events.timeline.lane_index import LaneKind
from tests.pure.events.test_timeline import stores
from tui.views.timeline.model import TimelineModel
from tui.views.timeline.navigation import Interval, TimelineNavigation
from tui.views.timeline.text import cell_lines, heads_of, picture_of
from widgets.events.times import kernel_stamp
from widgets.timeline.chart_lines import ChartLayout, ChartLines


@settings(max_examples=60)
@given(stores(), st.sampled_from(list(LaneKind)), st.booleans(), st.integers(1, 40), st.integers(20, 150))
def test_lanes_of_each_kind_have_together_all_events(store, kind, filtered, lines, columns):
    passing = FilteredRows(store, parse_condition("pid != 2", {}, store.task_names.name)) if filtered else None
    model, axis, navigation = TimelineModel(store, kind, passing), TimeAxis(store), TimelineNavigation()
    layout = ChartLayout.of(columns, lines, gaps=bool(model.gaps(axis)))
    navigation.fit(axis.start, axis.end, layout.cells)
    shot = model.shot(axis, navigation.window, layout.lanes, model.gaps(axis))
    while model.backlog:
        model.tick(0.0)
    gaps = model.gaps(axis)
    layout = ChartLayout.of(columns, lines, gaps=bool(gaps))
    navigation.fit(axis.start, axis.end, layout.cells)
    shot = model.shot(axis, navigation.window, layout.lanes, gaps)
    while model.backlog:
        model.tick(0.0)
    shot = model.shot(axis, navigation.window, layout.lanes, gaps)
    kinds = list(dict.fromkeys(lane.kind for lane in shot.lanes))
    assert not axis.parts or not layout.lanes or not model.index.lanes or kinds[0] is kind
    assert len(shot.lanes) + len(heads_of(shot.lanes)) <= layout.lanes
    for one in kinds:
        lanes = [lane for lane in shot.lanes if lane.kind is one]
        assert np.sum([lane.counts for lane in lanes], axis=0).tolist() == shot.every.counts.tolist()
        for lane in lanes:
            told = model.kinds(axis, lane, navigation.window.start, navigation.window.end)
            assert sum(count for _, count in told) == lane.total
    if axis.parts:
        picture = picture_of(shot, navigation, "by x", 0)
        drawn = ChartLines(picture, layout.for_lanes(len(shot.lanes), heads_of(shot.lanes))).lines
        assert len(drawn) <= max(lines, 2 + layout.gaps)
        assert all(0 <= tick.cell < layout.cells for tick in picture.ticks)
        watch = SimpleNamespace(event_fields=SimpleNamespace(plans=(), values=lambda *_, **__: []))
        head, kinds_text, _ = cell_lines(
            model, watch, shot, None, Interval(axis.start, axis.end), kernel_stamp, None, is_selection=True
        )
        assert f"{shot.every.total:,} event" in head
        assert bool(kinds_text) == bool(shot.every.total)


ACTIONS = (
    *("zoom_in", "zoom_out", "show_all", "follow", "to_begin", "hold", "select_none", "left", "right"),
    *("select_left", "select_right", "pan", "pan_back", "wheel", "drag", "click", "grow", "evict", "go_to"),
)


@given(
    st.integers(0, 10**15), st.integers(1, 10**12), st.integers(1, 300), st.lists(st.sampled_from(ACTIONS)), st.data()
)
def test_the_window_is_within_the_time_and_the_cursor_within_the_window(start, span, cells, actions, data):
    navigation = TimelineNavigation()
    end = start + span
    navigation.fit(start, end, cells)
    for action in actions:
        cursor, was_selected = navigation.cursor, navigation.selection
        cell = data.draw(st.integers(0, cells - 1))
        match action:
            case "left" | "right" | "select_left" | "select_right":
                step = -1 if "left" in action else 1
                navigation.step(step, lambda low, high: None, extend=action.startswith("select"))
                assert (navigation.selection is not None) == action.startswith("select")
            case "pan" | "pan_back":
                navigation.pan(0.5 if action == "pan" else -0.5)
            case "wheel":
                place = navigation.window.edge(cell)
                navigation.zoom(data.draw(st.sampled_from([0.5, 2.0])), place)
                assert navigation.window.has(place)
            case "drag":
                navigation.select(cell, data.draw(st.integers(0, cells - 1)))
            case "click":
                navigation.put(cell, lambda low, high: high - 1)
                assert navigation.cell == cell
            case "go_to":
                place = data.draw(st.integers(start, end - 1))
                navigation.go_to(place)
                assert navigation.cursor == place
            case "grow":
                end += data.draw(st.integers(0, span))
            case "evict":
                start = min(end - 1, start + data.draw(st.integers(0, span)))
            case _:
                getattr(navigation, action)()
        if action in ("zoom_in", "zoom_out") and was_selected is None:
            assert navigation.cursor == cursor, "an event under the cursor stays there"
        navigation.fit(start, end, cells)
        window = navigation.window
        assert start <= window.start
        assert window.end <= max(end, start + cells)
        assert window.has(navigation.cursor)
        assert window.cell(navigation.cursor) == navigation.cell
        if navigation.following:
            assert window.has(end - 1)
            assert navigation.cursor == end - 1
        if (found := navigation.selection) is not None:
            assert found.start < found.end
