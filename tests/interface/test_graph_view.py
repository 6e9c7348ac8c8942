"""The call graph on the screen: folding, walking, searching, filters, hot spots, a probe on what is found."""

from __future__ import annotations

import re
import threading
from functools import partial
from types import SimpleNamespace

import pytest

from events.graph.begin_end_columns import RowKind
from events.graph.hot_spots import call_times
from events.graph.live_tree import LiveTree
from events.graph.record_ends import NO_RETURNS
from events.graph.tree import CallRowFlag
from events.search.search import SearchStep
from kernel.connection.open_target import shipped_recording
from kernel.symbols.kernel_symbols import KernelSymbols
from tests.interface.test_app import application, says
from tests.interface.widget_host import screen_text, until
from tests.trimmed_recordings import graph_recording
from tui.app import target_control
from tui.present.ways_out import RUNNING_KERNEL
from tui.views.graph.model import GraphModel
from tui.views.graph.view import GraphView
from widgets.events.graph_pane import GraphPane
from widgets.events.times import kernel_stamp
from widgets.fields.probe_editor import ProbeEditor
from widgets.number_format import duration, grouped

SIZE = (120, 40)
ONE_KERNEL = pytest.mark.parametrize("recording", ["full"], indirect=True)
"""Where it is the same whether calls have results or not."""


@pytest.fixture(scope="module", params=["full", "7.2"])
def recording(request, tmp_path_factory):
    return graph_recording(tmp_path_factory.mktemp("graph") / f"graph-{request.param}.pwr", request.param)


async def open_graph(app, pilot) -> GraphView:
    await until(lambda: app.places.live is not None and app.places.live.is_current, pilot)
    await until(lambda: app.current_watch.ended and app.planner.info.symbols.loaded is not None, pilot)
    await pilot.press("g")
    view = app.places.live.views.current
    assert isinstance(view, GraphView)
    await until(lambda: view.shown is not None and not view.shown.live_tree.backlog, pilot)
    return view


async def open_hot_spots(app, pilot) -> tuple[GraphView, GraphPane]:
    view = await open_graph(app, pilot)
    await pilot.press("h")
    pane = app.places.live.query_one(GraphPane)
    await until(lambda: pane.hot.spots.spots, pilot)
    return view, pane


def line(app, view) -> str:
    """The line under the cursor, as it is on the screen."""
    table = view.graph
    top = table.region.y + 1
    return screen_text(app)[top + table.cursor - table.window.top]


def rows(view):
    return [view.shown.row(place) for place in range(view.shown.first, view.shown.next)]


@ONE_KERNEL
async def test_a_click_on_an_arrow_folds_and_on_a_title_of_hot_spots_sorts(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        view = await open_graph(app, pilot)
        table = view.graph
        await pilot.press("1", "home")
        table.move_to(next(n for n in range(view.shown.next) if view.shown.text(n).folded))
        roots = view.shown.next
        await pilot.pause()
        for sign in "▸▾":
            text = line(app, view)
            at = text.index(sign), table.region.y + 1 + table.cursor - table.window.top
            await pilot.click(offset=at)
            await until(lambda: (view.shown.next > roots) == (sign == "▸"), pilot)  # noqa: B023
        await pilot.click(offset=(at[0] + 8, at[1]))
        await pilot.pause()
        assert view.shown.next == roots, "beside the arrow nothing folds"
        await pilot.press("h")
        pane = app.places.live.query_one(GraphPane)
        await until(lambda: pane.hot.spots.spots, pilot)
        for sign in "▼▲":
            titles = screen_text(app)[pane.hot.region.y]
            await pilot.click(offset=(titles.index("calls") + 1, pane.hot.region.y))
            await until(lambda: f"calls {sign}" in screen_text(app)[pane.hot.region.y], pilot)  # noqa: B023
            counts = [spot.calls for spot in pane.hot.spots.spots]
            assert counts == sorted(counts, reverse=sign == "▼")
        await pilot.press("S")
        counts = [spot.self_time for spot in pane.hot.spots.spots]
        assert counts == sorted(counts, reverse=True), "the order that they have by themselves"


@ONE_KERNEL
async def test_a_tree_is_folded_and_unfolded(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        view = await open_graph(app, pilot)
        tree = view.shown.tree
        assert tree.closed > 1000
        assert not [row for row in rows(view) if row.kind == RowKind.SWITCH and not row.level]
        await pilot.press("1")
        await pilot.pause()
        assert {row.level for row in rows(view)} == {0}
        roots = view.shown.next
        await pilot.press("home")
        view.graph.move_to(next(n for n in range(roots) if view.shown.text(n).folded))
        await pilot.pause()
        first = view.shown.row(view.graph.cursor)
        assert "▸" in line(app, view)
        await pilot.press("right")
        assert "▾" in line(app, view)
        inside = [row for row in rows(view) if row.parent == first.row]
        assert view.shown.next == roots + len(inside)
        await pilot.press("right")  # in
        assert view.shown.row(view.graph.cursor).row == inside[0].row
        await pilot.press("left")
        if view.shown.row(view.graph.cursor).row != first.row:  # it had something inside too: folded first
            await pilot.press("left")
        assert view.shown.row(view.graph.cursor).row == first.row
        await pilot.press("left")
        await pilot.pause()
        assert "▸" in line(app, view)
        await pilot.press("0")
        await pilot.pause()
        assert view.shown.next > roots + len(inside)
        assert view.shown.row(view.graph.cursor).row == first.row


async def test_a_call_says_what_it_was_given_and_returned(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        view = await open_graph(app, pilot)
        await pilot.press("space", "home", "slash", *"vfs_read", "enter")
        await pilot.press("n")
        await until(lambda: "vfs_read(" in line(app, view), pilot)
        text = view.shown.text(view.graph.cursor)
        assert text.arguments.startswith("(file=…")
        assert ", count=" in text.arguments
        row = view.shown.row(view.graph.cursor)
        entry, leave = view.shown.lines.records(row)
        assert entry is not None and leave is not None
        began, ended = leave.values["calltime"], leave.values["rettime"]
        assert isinstance(began, int)
        assert isinstance(ended, int)
        assert row.duration == ended - began
        if "full" in recording.name:
            assert text.returned == str(leave.values["retval"])
        await pilot.press("enter")
        await pilot.pause()
        shown = screen_text(app)
        assert any("entry: func" in line for line in shown)
        values = entry.values["args"]
        assert isinstance(values, tuple) and isinstance(values[0], int)
        for name, value in (("file", hex(values[0])), ("count", str(values[2]))):
            assert any(re.search(rf"\b{name} +{value} ", line) for line in shown)


@ONE_KERNEL
async def test_slow_calls_are_gone_through(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        view = await open_graph(app, pilot)
        await pilot.press("1", "space", "home", "right_square_bracket")
        await until(lambda: view.shown.slow, pilot)
        found = view.shown.row(view.graph.cursor)
        took = sorted(
            row.duration
            for row in map(view.shown.tree.row, range(view.shown.tree.next))
            if row.duration >= 0 and row.kind == RowKind.CALL
        )
        assert found.duration >= view.shown.slow
        assert sum(one >= view.shown.slow for one in took) <= len(took) // 50
        await pilot.press("right_square_bracket", "left_square_bracket")
        assert view.shown.row(view.graph.cursor).row == found.row
        await pilot.press("equals_sign", *"20ms", "enter")
        assert view.shown.slow == 20_000_000
        await pilot.press("home", "right_square_bracket")
        assert view.shown.row(view.graph.cursor).duration >= 20_000_000


@ONE_KERNEL
async def test_short_calls_are_hidden(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        view = await open_graph(app, pilot)
        every = view.shown.next
        await pilot.press("minus", *"soon", "enter")
        assert "that is no time" in "\n".join(screen_text(app))
        await pilot.press(*["backspace"] * 4, *"100us", "enter")
        await until(lambda: 0 < view.shown.next < every, pilot)
        assert all(row.duration >= 100_000 or row.flags for row in rows(view))
        assert "from 100 us on" in view.note(app.current_watch)
        await pilot.press("minus", "enter")
        await until(lambda: view.shown.next == every, pilot)


@ONE_KERNEL
async def test_one_task_is_shown_alone(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        view = await open_graph(app, pilot)
        every = {row.task for row in rows(view)}
        assert len(every) > 1
        await pilot.press("space", "home", "a")
        await pilot.pause()
        first = view.shown.row(view.graph.cursor)
        assert {row.task for row in rows(view)} == {first.task}
        assert "task " not in screen_text(app)[2]
        await pilot.press("a")
        await pilot.pause()
        assert {row.task for row in rows(view)} == every


@ONE_KERNEL
async def test_where_the_time_went_and_a_probe_on_it(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        view, pane = await open_hot_spots(app, pilot)
        spots = {spot.name: spot for spot in pane.hot.spots.spots}
        calls = [row for row in map(view.shown.tree.row, range(view.shown.tree.next)) if row.kind == RowKind.CALL]
        reads = [row for row in calls if view.shown.lines.name(row) == "vfs_read" and row.duration >= 0]
        assert (spots["vfs_read"].calls, spots["vfs_read"].total) == (len(reads), sum(row.duration for row in reads))
        assert spots["vfs_read"].self_time == sum(row.self_time for row in reads) < spots["vfs_read"].total
        await pilot.press("slash", *"vfs_read", "enter")
        await pilot.press("home", "n")
        await until(lambda: view.function_under_cursor() == "vfs_read", pilot)
        await pilot.press("p")
        await until(lambda: app.places.compose.is_current, pilot)
        editor = app.places.compose.query_one(ProbeEditor)
        await until(lambda: editor.probe is not None and editor.probe.place.symbol == "vfs_read", pilot)


@ONE_KERNEL
async def test_hot_spots_tell_what_they_leave_out(recording, monkeypatch):
    """Rows are dropped when there are too many: what was in them is not forgotten silently."""
    monkeypatch.setattr("tui.views.graph.view.GraphModel", partial(GraphModel, limit=100))
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        view, pane = await open_hot_spots(app, pilot)
        every = LiveTree(view.shown.store, {})
        while every.tick(1):
            pass
        left_out = len(call_times(every.tree, view.shown.store.boots).function) - sum(
            spot.calls for spot in pane.hot.spots.spots
        )
        assert left_out > 0
        note = f"without the oldest {grouped(left_out)} calls; "
        await until(lambda: note in screen_text(app)[1], pilot)
        await pilot.press("h")
        await until(lambda: note not in screen_text(app)[1], pilot)


async def test_errors_are_counted_only_where_it_is_known_what_calls_returned(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        view, _ = await open_hot_spots(app, pilot)
        _, fields = view.detail(app.current_watch, 0)
        returned = any(
            row.flags & CallRowFlag.RETVAL for row in map(view.shown.tree.row, range(view.shown.tree.next))
        )
        assert ("errors" in {field.name for field in fields}) == returned == ("full" in recording.name)


async def test_a_search_sees_what_calls_returned_and_were_given(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        view = await open_graph(app, pilot)
        shown = view.shown
        lines = [shown.line(row) for row in rows(view)]
        has_returns = any(one.returned for one in lines)
        assert shown.lacks_returns is not has_returns
        assert ("no return values" in shown.note()) is not has_returns
        names = {one.returned for one in lines if one.failed} | {one.arguments[:12] for one in lines[:50]}
        for text in sorted(name for name in names if len(name) > 2):
            found = shown.find(text, shown.first, 1, 60.0)
            assert found.done and found.seq is not None
            line = shown.text(found.seq)
            assert text.lower() in f"{line.name} {line.arguments} {line.returned}".lower()
        assert shown.find("nothing has this", shown.first, 1, 600.0) == SearchStep(None, shown.tree.next, True)


@ONE_KERNEL
async def test_rows_come_before_their_names(recording, monkeypatch):
    """Nobody waits for symbols: functions are addresses until these are read, which is said."""
    read = threading.Event()
    load = KernelSymbols.load

    def slow(symbols: KernelSymbols) -> None:
        assert read.wait(60)
        load(symbols)

    monkeypatch.setattr(KernelSymbols, "load", slow)
    monkeypatch.setattr(target_control, "_SILENT", 0.0)
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.places.live is not None and app.places.live.is_current, pilot)
        await until(lambda: app.current_watch.ended, pilot)
        await pilot.press("g")
        view = app.places.live.views.by_name["graph"]
        await until(lambda: view.shown is not None and view.shown.next > 100, pilot)

        def names() -> list[str]:
            return [view.shown.lines.name(row) for row in rows(view) if row.kind == RowKind.CALL]

        assert names()
        assert all(name.startswith("0x") for name in names())
        await until(lambda: says(app, "addresses have no names"), pilot)
        read.set()
        await until(lambda: not any(name.startswith("0x") for name in names()), pilot)
        assert not says(app, "addresses have no names")


async def test_a_search_finds_every_row_that_has_the_text(recording, monkeypatch):
    """Whatever part of a name, an argument or a result is asked for: rows are not read where types rule it out."""
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        view = await open_graph(app, pilot)
        tree, lines = view.shown.tree, view.shown.lines
        rows = {number: tree.row(number) for number in range(tree.first, tree.next)}
        calls = [row for row in rows.values() if row.kind == RowKind.CALL]
        shown = {row.row: lines.line(row, None) for row in calls}
        given = {row.row: lines.arguments_text(row) for row in calls}.__getitem__
        parts = [f"{part}".lower() for one in shown.values() for part in (one.name, one.arguments, one.returned)]
        texts = {part[at : at + 5] for part in parts for at in range(0, len(part), 3)} | {"nothing", "enoent", "4096"}
        searched = {row: "\0".join((one.name, one.arguments, one.returned)).lower() for row, one in shown.items()}
        # A row and what it shows are made once: each text asks only which rows are read for it.
        monkeypatch.setattr(tree, "row", rows.__getitem__)
        monkeypatch.setattr(lines, "arguments_text", lambda row: given(row.row), raising=False)
        for text in sorted(texts)[:: len(texts) // 80 + 1]:
            found = view.shown._matching_text(text)(slice(0, tree.next - tree.first))
            wanted = [row for row, parts_of_row in searched.items() if text in parts_of_row]
            assert (found.nonzero()[0] + tree.first).tolist() == wanted, text


@ONE_KERNEL
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_it_has_room(recording, size):
    """Every line fits, and what took how long is on it."""
    app = application(recording)
    async with app.run_test(size=size) as pilot:
        await open_graph(app, pilot)
        await pilot.press("space", "home")
        await pilot.pause()
        lines = screen_text(app)[3:-1]
        assert all(len(text.rstrip()) <= size[0] for text in lines)
        assert sum(" us" in text or " ms" in text for text in lines) > len(lines) // 2
        assert "took" in screen_text(app)[2]


@ONE_KERNEL
async def test_a_recording_traces_nothing(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await open_graph(app, pilot)
        await pilot.press("f2")
        app.places.compose.pick("vfs_read")
        await pilot.press("G")
        await until(lambda: "Trace what vfs_read calls" in "\n".join(screen_text(app)), pilot)
        await pilot.press("5")
        await until(lambda: "is a recording" in "\n".join(screen_text(app)), pilot)
        assert not app.tracing.runs
        assert app.screen is app.places.compose


@ONE_KERNEL
async def test_a_call_took_as_long_in_its_details_as_on_the_list(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        view = await open_graph(app, pilot)
        took = {place: view.shown.text(place).duration for place in range(view.shown.first, view.shown.next)}
        timed = {place: ns for place, ns in took.items() if ns is not None}
        titles = {place: view.detail(app.current_watch, place)[0] for place in timed}
        assert {place: title.rpartition(", ")[2] for place, title in titles.items()} == {
            place: duration(ns) for place, ns in timed.items()
        }


async def test_counts_of_what_goes_on_coming_are_not_said_of_a_held_picture(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        view = await open_graph(app, pilot)
        recording = SimpleNamespace(recorder=None, error="")
        seen = {"recording": recording, "outages": (), "info": app.planner.info, "graph_plan": None}
        live = SimpleNamespace(live=True, armed=SimpleNamespace(probes=()), **seen)
        calls = f"{view.shown.tree.closed:,} calls"
        assert calls in view.note(live)
        await pilot.press("space")
        assert view.note(live) == (NO_RETURNS if view.shown.lacks_returns else "")
        assert calls in view.note(app.current_watch)
        assert view.place.row_count == view.shown.next - view.shown.first
        await pilot.press("h")
        assert calls in view.note(live) and view.place.following and view.place.row_count is None
        view.forget()
        assert view.note(live) == "no call came yet" and not view.empty_reason(live)
        assert str(RUNNING_KERNEL) in view.empty_reason(app.current_watch), "a recording traces nothing"


async def test_a_held_picture_stays_and_keeps_its_times_when_tasks_get_names():
    app = application(shipped_recording())
    async with app.run_test(size=SIZE) as pilot:
        view = await open_graph(app, pilot)
        store, table = view.shown.store, view.graph
        app.places.live.action_clock()
        assert table.rows.stamp is not kernel_stamp
        await pilot.press("f", *"comm == head", "enter")
        await until(lambda: view.shown.chosen and not view.shown.backlog, pilot)
        assert table.rows.stamp is not kernel_stamp, "rows that pass a filter have the times that were asked for"
        # Not a row of the screen, whose number of rows depends on whether a message stands at its foot.
        table.go_to(table.rows.next - 2 * table.window.page)
        await pilot.press("left", "up")
        held, above, size = view.shown.row(table.cursor).row, table.cursor - table.window.top, view.filtered.passing
        assert 0 < above < table.window.page - 1
        before = [row.row for row in rows(view)]
        more = next(pid for pid, name in store.task_names.known.items() if name == "workload")
        store.task_names.known = {**store.task_names.known, more: "head"}
        app.places.live.names_changed()
        app.places.live.tick()
        await until(lambda: not view.shown.backlog and view.filtered.passing > size, pilot)
        assert not table.follow.following and view.shown.row(table.cursor).row == held
        assert table.cursor - table.window.top == above
        assert set(before) <= {row.row for row in rows(view)}
