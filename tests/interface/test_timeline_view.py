"""The time line of the shipped recording: its counts, keys and mouse, its filter, and the ways to events and back."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest

from events.names.event_names import event_name
from events.store.outage_mark import task_text
from events.timeline.lane_index import LaneKind
from kernel.connection.open_target import shipped_recording
from tests.export_recordings import recording
from tests.interface.test_app import application, records_of
from tests.interface.widget_host import screen_text, until
from tests.pattern_recording import FUNCTIONS, pattern_recording
from tests.trimmed_recordings import graph_recording
from tui.views.timeline.view import TimelineView

SIZES = [(80, 24), (120, 40), (200, 60)]


async def shown(app, pilot, *before: str) -> TimelineView:
    await until(lambda: app.places.live is not None and app.places.live.is_current, pilot)
    await until(lambda: app.current_watch.ended, pilot)
    for key in before:
        await pilot.press(key)
    await pilot.press("l")
    view = app.places.live.views.current
    assert isinstance(view, TimelineView)
    await settled(view, pilot)
    return view


async def settled(view, pilot) -> None:
    await until(lambda: view.shot is not None and not view.model.backlog, pilot)
    await until(lambda: not view._next_picture.is_due, pilot)


async def press(view, pilot, *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
    await settled(view, pilot)


def about(view) -> list[str]:
    return [str(label.content) for label in view.pane._labels]


@pytest.mark.parametrize("size", SIZES)
async def test_each_lane_has_its_events_in_their_cells(size):
    app = application(shipped_recording())
    async with app.run_test(size=size) as pilot:
        view = await shown(app, pilot)
        every = records_of(app)
        names: dict[object, Any] = {
            "event": lambda record: event_name(record.event),
            "CPU": lambda record: f"CPU {record.cpu}",
            "task": lambda record: task_text(record.comm, record.pid, ""),
            "function": lambda record: event_name(record.event).rpartition("__")[0],
        }
        for kind in names:
            assert view.model.kind == view.shot.lanes[0].kind == kind
            shown_kinds = dict.fromkeys(lane.kind for lane in view.shot.lanes)
            assert "function" not in shown_kinds or kind == "function", "it is much the same as by event"
            others = len(names) - (kind != "function")
            assert kind == "task" or size == SIZES[0] or len(shown_kinds) == others, "all that has room is shown"
            for one in shown_kinds:
                check_lanes(view, every, one, names[one])
            text = "\n".join(screen_text(app))
            assert all(f"by {one}" in text for one in shown_kinds)
            room = view.pane.chart.chart_layout.names - 10
            assert all(lane.name[:room] in text for lane in view.shot.lanes)
            await press(view, pilot, "v")
        assert view.model.kind == "event"


def check_lanes(view, every, kind, name_of) -> None:
    """The lanes of a kind have the events of their names in their cells, and one lane all others."""
    shot = view.shot
    lanes = [lane for lane in shot.lanes if lane.kind == kind]
    expected = Counter(map(name_of, every))
    cells = Counter((name_of(record), shot.window.cell(record.ts)) for record in every)
    named = [lane for lane in lanes if lane.name in expected]
    for lane in named:
        assert lane.counts.tolist() == [cells[lane.name, cell] for cell in range(shot.window.cells)]
    totals = [lane.total for lane in named]
    assert kind == "CPU" or totals == sorted(totals, reverse=True)
    assert max(totals) == max(expected.values())
    numbers: list[int] = [lane.total for lane in lanes]
    assert sum(numbers) == shot.every.total == len(every)
    others = [lane.name for lane in lanes if lane.name not in expected]
    assert others == ([f"{len(expected) - len(named)} others"] if len(expected) > len(named) else [])


async def test_the_cell_tells_its_events_and_zooming_keeps_the_cursor_on_them():
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        view = await shown(app, pilot)
        await press(view, pilot, "left", "left", "left", "down", "down", "n", "N")
        lane = view.shot.lanes[1]
        assert view.lane_row.name == lane.name
        record = view.record_under_cursor(app.current_watch.store)
        assert event_name(record.event) == lane.name
        assert view.navigation.cursor == record.ts
        for _ in range(30):
            await pilot.press("+")
        await settled(view, pilot)
        assert view.record_under_cursor(app.current_watch.store).seq == record.seq
        window = view.navigation.window
        assert window.span == window.cells
        assert "1 event" in about(view)[0]
        assert about(view)[1] == f"{lane.name} 1"
        assert f"CPU {record.cpu} {task_text(record.comm, record.pid, '')}" in about(view)[2]
        for _ in range(40):
            await pilot.press("-")
        await settled(view, pilot)
        assert view.shot.every.total == len(records_of(app))
        assert view.record_under_cursor(app.current_watch.store).seq <= record.seq


async def test_a_selected_interval_filters_all_views_and_is_taken_back():
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        view = await shown(app, pilot)
        every = records_of(app)
        await press(view, pilot, "home", *["right"] * 20, *["shift+right"] * 10)
        selection = view.navigation.selection
        assert selection is not None
        start, end = selection
        inside = [record for record in every if start <= record.ts < end]
        assert 0 < len(inside) < len(every)
        assert about(view)[0].startswith("selected ")
        assert f": {len(inside)} events" in about(view)[0]
        await press(view, pilot, "full_stop")
        live = app.places.live
        assert live.filter.text.startswith("time >= ")
        assert view.shot.every.total == len(inside)
        assert f"{len(inside)} of {len(every)} events" in "\n".join(screen_text(app))
        await pilot.press("e")
        await until(lambda: live.views.current.filtered.passing == len(inside), pilot)
        await pilot.press("l")
        await settled(view, pilot)
        # another interval takes the place of the first one
        await press(view, pilot, "escape", "home", "n", "plus", "full_stop")
        assert live.filter.text.count("time >=") == 1
        await press(view, pilot, "u", "u")
        assert live.filter.text == ""
        await press(view, pilot, "0")
        await settled(view, pilot)
        assert view.shot.every.total == len(every)


async def test_without_a_selection_the_lane_or_what_is_shown_is_chosen_never_nothing():
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        view = await shown(app, pilot)
        every = records_of(app)
        live = app.places.live
        await press(view, pilot, "full_stop")
        assert live.filter.text == "", "all is shown, and no lane chosen"
        await until(lambda: "select an interval" in "\n".join(screen_text(app)), pilot)
        for kind in LaneKind:
            await press(view, pilot, "down")
            lane = view.lane_row
            assert lane is not None and lane.kind is kind and not lane.is_rest
            await press(view, pilot, "full_stop")
            assert live.filter.text
            await until(partial(passes, view, lane.total), pilot)
            await press(view, pilot, "u")
            assert live.filter.text == ""
            await until(lambda: view.shot.every.total == len(every), pilot)
            await press(view, pilot, "v")
        await press(view, pilot, "home", "plus", "plus", "plus")
        inside = view.shot.every.total
        assert 0 < inside < len(every)
        await press(view, pilot, *["up"] * view.row, "full_stop")
        assert view.shot.every.total == inside
        await press(view, pilot, "u")
        at = empty_cell(view)
        view.navigation.select(at, at)
        await press(view, pilot, "full_stop")
        assert live.filter.text == "", "an interval without an event is no filter"
        assert view.navigation.selection is not None


def passes(view, number: int) -> bool:
    return view.shot.every.total == number > 0


def empty_cell(view) -> int:
    counts = view.shot.every.counts.tolist()
    return counts.index(0)


async def test_the_mouse_selects_zooms_and_puts_the_cursor():
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        view = await shown(app, pilot)
        chart = view.pane.chart
        names, top = chart.chart_layout.names, 1 + chart.chart_layout.graph
        await pilot.click(chart, offset=(names + 40, top))
        await settled(view, pilot)
        assert view.row == 1
        assert view.navigation.cell == 40
        assert view.navigation.selection is None
        await pilot.mouse_down(chart, offset=(names + 10, top))
        await pilot.hover(chart, offset=(names + 20, top))
        await pilot.mouse_up(chart, offset=(names + 20, top))
        await settled(view, pilot)
        window = view.navigation.window
        assert view.navigation.selection == (window.edge(10), window.edge(21))
        assert view.navigation.selected_cells == range(10, 21)
        await press(view, pilot, "plus")
        assert view.navigation.window == (window.edge(10), window.edge(21) - window.edge(10), window.cells)
        assert view.navigation.selection == (window.edge(10), window.edge(21)), "it can be filtered by still"
        window = view.navigation.window
        chart.post_message(chart.Acted("in", 30))
        await settled(view, pilot)
        assert view.navigation.window.span == pytest.approx(window.span / 2, abs=1)
        assert view.navigation.window.cell(window.edge(30)) == 30
        chart.post_message(chart.Acted("out", 30))
        await settled(view, pilot)
        assert view.navigation.window.span == pytest.approx(window.span, abs=2)


async def test_enter_goes_to_the_event_and_the_key_of_the_view_back_to_its_place():
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        view = await shown(app, pilot)
        await press(view, pilot, *["left"] * 7, "down", "N", "N")
        record = view.record_under_cursor(app.current_watch.store)
        place = view.navigation.cursor
        await pilot.press("enter")
        events = app.places.live.views.current
        assert events.name == "events"
        await until(lambda: events.pane.record is not None, pilot)
        assert events.pane.record.seq == record.seq
        await pilot.press("up", "up", "up")
        other = events.pane.record
        assert other.seq == record.seq - 3
        await pilot.press("l")
        await settled(view, pilot)
        assert view.navigation.cursor == other.ts != place
        assert view.record_under_cursor(app.current_watch.store).seq == other.seq
        await pilot.press("enter")
        await until(lambda: events.pane.record is not None and events.pane.record.seq == other.seq, pilot)


async def test_enter_finds_the_event_among_those_that_pass_and_in_sorted_rows():
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.places.live is not None and app.places.live.is_current, pilot)
        await until(lambda: app.current_watch.ended, pilot)
        app.places.live.filter.choose("comm == cat", app.current_watch)
        app.places.live.tick()
        await pilot.press("up", "right", "S")  # rows by a column
        view = await shown(app, pilot)
        passing = [record for record in records_of(app) if record.comm == "cat"]
        assert view.shot.every.total == len(passing)
        await press(view, pilot, "0", "home", "n")
        record = view.record_under_cursor(app.current_watch.store)
        assert record.comm == "cat"
        await pilot.press("enter")
        events = app.places.live.views.current
        await until(lambda: events.pane.record is not None and events.pane.record.seq == record.seq, pilot)


async def test_the_line_follows_until_one_moves_away_and_again_at_the_end():
    app = application(shipped_recording())
    async with app.run_test(size=(80, 24)) as pilot:
        view = await shown(app, pilot)
        assert view.navigation.following
        assert view.navigation.cell == view.navigation.window.cells - 1
        for key in ("plus", "left", "pageup", "home", "minus", "up"):
            await press(view, pilot, "0")
            assert view.navigation.following
            await press(view, pilot, key)
            assert not view.navigation.following
        await press(view, pilot, "0", "plus", "plus", "home")
        span = view.navigation.window.span
        for follow in (partial(press, view, pilot, "end"), view.follow):
            view.navigation.hold()
            assert not view.place.following
            if (pressed := follow()) is not None:
                await pressed
            assert view.place.following
            assert view.navigation.window.span == span
            assert view.navigation.window.end == view.navigation.bounds.end


@pytest.mark.parametrize("kind", ["cut", "overrun"])
async def test_losses_and_outages_are_marked_and_told(kind, tmp_path):
    app = application(recording(kind, tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        view = await shown(app, pilot)
        layout = view.pane.chart.chart_layout
        line = next(text for text in screen_text(app) if text.startswith(" lost"))[layout.names :]
        if kind == "cut":
            (span,) = view.shot.gaps.outages
            found = (span.start, span.end)
            assert "░" in line
        else:
            (loss,) = app.current_watch.store.losses.after(0)
            found = (loss.ts, loss.ts + 1)
        first, last = (min(view.shot.window.cell(place), layout.cells - 1) for place in (found[0], found[1] - 1))
        assert set(line[first : last + 1]) == ({"░"} if kind == "cut" else {"✗"})
        await pilot.click(view.pane.chart, offset=(layout.names + first, 1 + layout.graph))
        await settled(view, pilot)
        assert ("disconnected for 4.0 s" if kind == "cut" else "some lost on CPU") in about(view)[0]


async def test_a_name_is_clicked_for_its_lane_alone():
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        view = await shown(app, pilot)
        layout = view.pane.chart.chart_layout
        place = view.navigation.cursor
        await pilot.click(view.pane.chart, offset=(3, 1 + layout.graph + layout.height))
        await settled(view, pilot)
        assert view.row == 2
        assert view.navigation.cursor == place


async def test_functions_of_one_probe_have_a_lane_each(tmp_path):
    """The probes of the recording, as if they had been on several functions: it is their addresses that are named."""
    app = application(pattern_recording(tmp_path / "patterns.pwr"))
    async with app.run_test(size=(120, 40)) as pilot:
        view = await shown(app, pilot)
        await until(lambda: app.planner.info.symbols.loaded is not None, pilot)
        await press(view, pilot, "v", "v", "v")
        assert view.model.kind == "function" and "by function" in "\n".join(screen_text(app))
        await until(
            lambda: {lane.name for lane in view.shot.lanes if lane.kind == "function"} == set(FUNCTIONS), pilot
        )
        assert view.model.index.functions
        totals = Counter(event_name(record.event).rpartition("__")[0] for record in records_of(app))
        assert {lane.name: lane.total for lane in view.shot.lanes if lane.kind == "function"} == totals


async def test_calls_of_the_tracer_are_in_the_lanes_of_their_functions(tmp_path):
    app = application(graph_recording(tmp_path / "graph.pwr", "failures"))
    async with app.run_test(size=(120, 40)) as pilot:
        view = await shown(app, pilot)
        await until(lambda: app.planner.info.symbols.loaded is not None, pilot)
        await press(view, pilot, "v", "v", "v")
        await until(lambda: any(lane.name == "__x64_sys_openat" for lane in view.shot.lanes), pilot)
        names = {lane.name for lane in view.shot.lanes if lane.kind == "function"}
        assert not {name for name in names if name.startswith(("0x", "funcgraph"))}
