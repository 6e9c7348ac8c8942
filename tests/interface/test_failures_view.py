"""The view of first failures, on a recording of calls that fail: its table, its chains, its export."""

from __future__ import annotations

import json
from functools import partial

import pytest

from events.graph import live_tree
from events.graph.record_ends import NO_RETURNS
from tests.interface.test_app import application
from tests.interface.widget_host import paste, screen_text, until
from tests.trimmed_recordings import graph_recording
from tui.__main__ import main
from tui.live.details.lines_screen import ChainScreen
from tui.live.event_export import EventExportScreen
from tui.views.failures.text import summary_line
from tui.views.failures.view import FailuresView


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return graph_recording(tmp_path_factory.mktemp("graph") / "failures.pwr", "failures")


async def open_failures(app, pilot) -> FailuresView:
    await until(lambda: app.places.live is not None and app.places.live.is_current, pilot)
    await until(lambda: app.current_watch.ended and app.planner.info.symbols.loaded is not None, pilot)
    await pilot.press("E")
    view = app.places.live.views.current
    assert isinstance(view, FailuresView)
    return view


def read(view) -> bool:
    return view._model is not None and not view._model.live_tree.backlog


async def test_with_a_filter_each_number_says_of_which_calls_it_is(recording):
    app = application(recording)
    async with app.run_test(size=(160, 30)) as pilot:
        view = await open_failures(app, pilot)
        await until(lambda: read(view), pilot)
        task, every = view._groups[-1].example.task, len(view._model.groups)
        whole = f"{view._model.failed} of {view._model.checked} calls failed"
        assert summary_line(view._model) == f"{whole}, {every} first failures"
        for words in ("pid > 0", f"pid == {task}", "pid == 0"):
            await pilot.press("f", "ctrl+u")
            await paste(pilot, words)
            await pilot.press("enter")
            await until(partial(_is_read_of, view, words), pilot)
            shown, groups = sum(group.calls for group in view._groups), len(view._groups)
            assert view.filtered.text == f"{shown} of {view._model.failed} failed calls"
            first = "1 first failure" if groups == 1 else f"{groups} first failures"
            verb = "passes" if shown == 1 else "pass"
            line = f"{whole}, {first} of the {shown} that {verb} the filter"
            assert summary_line(view._model) == line and view.note(app.current_watch).startswith(line)


def _is_read_of(view, words: str) -> bool:
    passing = view._model.passing
    return passing is not None and passing.condition.text == words and read(view)


async def test_first_failures_are_counted_and_their_chains_shown(recording):
    app = application(recording)
    async with app.run_test(size=(80, 24)) as pilot:
        view = await open_failures(app, pilot)
        await until(lambda: read(view), pilot)
        await pilot.pause()
        table = [line.replace("▌", " ").split() for line in screen_text(app)]
        assert ["failed", "error", "first", "failure", "calls", "processes"] in table
        counts = {words[1]: (words[0], words[2]) for words in table if len(words) > 3 and words[1].startswith("E")}
        assert counts["ENOTEMPTY"] == ("1", "shmem_rmdir")
        assert counts["ENXIO"] == ("1", "fifo_open")
        assert counts["ENOENT"][1] == "step_into_slowpath"
        numbers = [row[0] for row in view.pane.ordered.rows]
        assert numbers == sorted(numbers, reverse=True)
        assert any(f"{sum(numbers)} of " in line for line in screen_text(app))
        row = [group.errno for group in view._groups].index("ENXIO")
        await pilot.press(*["down"] * row, "enter")
        await until(lambda: isinstance(app.screen, ChainScreen), pilot)
        await until(lambda: any("first:" in line for line in screen_text(app)), pilot)
        chain = screen_text(app)
        lines = [line for line in chain if " = -ENXIO" in line or "(" in line]
        assert any("__x64_sys_openat of python3-" in line for line in chain)
        first = next(line for line in lines if "first:" in line)
        assert "fifo_open(" in first
        assert lines.index(first) > next(n for n, line in enumerate(lines) if "do_dentry_open(" in line)
        await pilot.press("f1")
        await until(lambda: any("marked first" in line for line in screen_text(app)), pilot)
        await pilot.press("escape", "escape")
        await until(lambda: app.places.live.is_current, pilot)


async def test_a_probe_is_built_on_the_first_failure(recording):
    app = application(recording)
    async with app.run_test(size=(100, 30)) as pilot:
        view = await open_failures(app, pilot)
        await until(lambda: read(view) and view._groups, pilot)
        row = [group.errno for group in view._groups].index("ENXIO")
        await pilot.press(*["down"] * row, "p")
        await until(lambda: "fifo_open" in "\n".join(screen_text(app)), pilot)


async def test_a_text_is_found_in_the_table(recording):
    app = application(recording)
    async with app.run_test(size=(100, 30)) as pilot:
        view = await open_failures(app, pilot)
        await until(lambda: read(view) and view._groups, pilot)
        await pilot.press("slash", *"erofs", "enter", "n")
        row = [group.errno for group in view._groups].index("EROFS")
        await until(lambda: view.pane.table.cursor == row, pilot)


async def test_a_graph_without_return_values_says_so(tmp_path):
    app = application(graph_recording(tmp_path / "without.pwr", "7.2"))
    async with app.run_test(size=(100, 30)) as pilot:
        await open_failures(app, pilot)
        await until(lambda: NO_RETURNS[:40] in "\n".join(screen_text(app)), pilot)


async def test_its_table_is_exported_as_the_command_line_does(recording, tmp_path):
    app = application(recording)
    async with app.run_test(size=(110, 30)) as pilot:
        view = await open_failures(app, pilot)
        await until(lambda: read(view), pilot)
        await pilot.press("o")
        await until(partial(isinstance, app.screen, EventExportScreen), pilot)
        await until(lambda: "failures: JSON lines" in "\n".join(screen_text(app)), pilot)
    for form in ("jsonl", "csv"):
        path = tmp_path / f"x.{form}"
        assert main([str(recording), "--export", f"{form}:{path}", "--view", "failures"]) == 0
        text = path.read_text()
        assert "fifo_open" in text
        if form == "jsonl":
            objects = [json.loads(line) for line in text.splitlines()]
            assert [one["count"] for one in objects] == [group.calls for group in view._groups]
            assert [one["origin"] for one in objects] == [group.origin for group in view._groups]


async def test_the_filter_leaves_the_failures_of_whom_it_lets_pass(recording, tmp_path):
    app = application(recording)
    async with app.run_test(size=(100, 30)) as pilot:
        view = await open_failures(app, pilot)
        await until(lambda: read(view) and view._groups, pilot)
        every = sum(group.calls for group in view._groups)
        await pilot.press("f", *"comm == dropbear", "enter")
        await until(lambda: 0 < sum(group.calls for group in view._groups) < every, pilot)
        await until(lambda: read(view), pilot)
        for group in view._groups:
            assert set(view._model.comms(group)) == {"dropbear"}
        path = tmp_path / "x.jsonl"
        words = ["--export", f"jsonl:{path}", "--view", "failures", "--filter", "comm == dropbear"]
        assert main([str(recording), *words]) == 0
        objects = [json.loads(line) for line in path.read_text().splitlines()]
        assert [(one["origin"], one["count"]) for one in objects] == [
            (group.origin, group.calls) for group in view._groups
        ]


async def test_failures_that_are_held_are_filtered_and_none_come_in(recording, monkeypatch):
    """A piece of the rows at a time, as if they came live."""
    monkeypatch.setattr(live_tree, "_LEAST", 96)
    monkeypatch.setattr("tui.views.failures.view._BUDGET", 0.0)
    app = application(recording)

    def counts() -> dict[tuple[str, str], int]:
        return {(group.origin, group.errno): group.calls for group in view._groups}

    async with app.run_test(size=(100, 30)) as pilot:
        view = await open_failures(app, pilot)
        await until(counts, pilot)
        assert view.hold() and not view.hold()
        held, before = counts(), view._held_before
        assert before is not None and before < app.current_watch.store.next_seq
        assert view.filtered.of == sum(held.values())
        await pilot.press("f", *"comm == nobody", "enter")
        await until(lambda: view._model is not None and view._model.passing is not None and read(view), pilot)
        assert counts() == {} and not view.place.following
        await pilot.press("f", "ctrl+u", "enter")
        await until(lambda: view._model.passing is None and read(view), pilot)
        assert counts() == held and not view.place.following
        await pilot.press("space")
        await until(lambda: view.place.following and read(view), pilot)
        assert sum(counts().values()) > sum(held.values())


async def test_another_graph_is_shown_that_is_opened_while_it_is_on_the_screen(recording, tmp_path):
    """A recording tells its formats with its first events: the first look may come before them."""
    app = application(recording)
    async with app.run_test(size=(100, 30)) as pilot:
        view = await open_failures(app, pilot)
        await until(lambda: read(view) and view._groups, pilot)
        first, every = app.current_watch, len(view._groups)
        app.open_target(str(graph_recording(tmp_path / "other.pwr", "failures")))
        await until(lambda: app.current_watch is not None and app.current_watch is not first, pilot)
        app.places.show_graph("failures")
        await until(lambda: app.current_watch.ended and app.planner.info.symbols.loaded is not None, pilot)
        await until(lambda: read(view) and len(view._groups) == every, pilot)
        assert view._model.store is app.current_watch.store and app.places.live.views.current is view


async def test_formats_that_come_after_the_first_look_are_those_of_a_graph(recording, monkeypatch):
    app = application(recording)
    async with app.run_test(size=(100, 30)) as pilot:
        view = await open_failures(app, pilot)
        await until(lambda: read(view) and view._groups, pilot)
        every, store = len(view._groups), app.current_watch.store
        with monkeypatch.context() as early:
            early.setattr(live_tree, "has_graph", lambda _: False)
            view.forget()
            view.tick(app.current_watch, store, ())
        assert not view._model.live_tree.traced and not view._groups
        app.places.live.tick()
        await until(lambda: read(view) and len(view._groups) == every, pilot)
