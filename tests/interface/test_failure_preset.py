"""The preset of first failures on the screen: judged, given values; its failures are shown, taken back, traced."""

from __future__ import annotations

import json

import pytest

from tests.interface.test_app import application, kernel_only, open_compose, recording
from tests.interface.test_failures_view import read
from tests.interface.test_presets import folders, open_presets, text
from tests.interface.widget_host import until
from tests.trimmed_recordings import graph_recording
from tui.app.trace_control import TraceControl
from tui.live.event_export import EventExportScreen
from tui.views.failures.view import FailuresView
from widgets.dialogs.form import FormDialog

__all__ = ["folders", "kernel_only", "recording"]


@pytest.fixture(scope="module")
def failures(tmp_path_factory):
    return graph_recording(tmp_path_factory.mktemp("graph") / "failures.pwr", "failures")


async def choose(app, pilot, *, call: str = "", error: str = "") -> None:
    """Find the preset by its question, and give it values."""
    chooser = await open_presets(app, pilot)
    await pilot.press(*"which function returned this error first")
    await until(lambda: chooser.current and chooser.current.name == "first-failure", pilot)
    await until(lambda: "✓" in text(app) or "✗" in text(app), pilot)
    await pilot.press("enter")
    await until(lambda: isinstance(app.screen, FormDialog), pilot)
    if call:
        await pilot.press("ctrl+u", *call)
    await pilot.press("down", *error, "enter")


async def open_events(app, pilot) -> None:
    await until(lambda: app.places.live is not None and app.places.live.is_current, pilot)
    await until(lambda: app.current_watch.ended and app.planner.info.symbols.loaded is not None, pilot)


async def test_a_recording_shows_the_failures_that_were_asked_for(failures, tmp_path):
    app = application(failures)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_events(app, pilot)
        await choose(app, pilot, error="ENXIO")
        await until(lambda: isinstance(app.places.live.views.current, FailuresView), pilot)
        view = app.places.live.views.current
        await until(lambda: read(view) and view._groups, pilot)
        assert [(group.errno, group.origin) for group in view._groups] == [("ENXIO", "fifo_open")]
        assert "failures of __x64_sys_openat with ENXIO" in text(app)
        assert "1 of " in text(app) and ", with ENXIO" in text(app)
        path = tmp_path / "chosen.jsonl"
        await pilot.press("o")
        await until(lambda: isinstance(app.screen, EventExportScreen), pilot)
        await until(lambda: "failures: JSON lines" in text(app), pilot)
        await pilot.press("escape")
        table = view.export_table(app.current_watch, app.current_watch.store)
        while table.backlog:
            table.tick(1)
        path.write_text(json.dumps([one["origin"] for one in table.objects()]))
        assert json.loads(path.read_text()) == ["fifo_open"]
        await until(lambda: app.places.live.is_current, pilot)
        await pilot.press("u")
        await until(lambda: read(view) and len(view._groups) > 10, pilot)
        assert ", with ENXIO" not in text(app)


async def test_one_call_of_a_recording_of_several(failures):
    app = application(failures)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_events(app, pilot)
        await choose(app, pilot, call="mkdirat")
        await until(lambda: isinstance(app.places.live.views.current, FailuresView), pilot)
        view = app.places.live.views.current
        await until(lambda: read(view) and view._groups, pilot)
        assert {group.errno for group in view._groups} == {"EEXIST", "EROFS"}


async def test_a_recording_without_such_calls_says_so(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_events(app, pilot)
        chooser = await open_presets(app, pilot)
        await pilot.press(*"first-failure")
        await until(lambda: chooser.current and chooser.current.name == "first-failure", pilot)
        await until(lambda: chooser._checks.get(chooser.current), pilot)
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, FormDialog), pilot)
        await pilot.press("ctrl+u", *"mount", "enter", "enter")
        await until(lambda: "this recording has no calls of mount with their return values" in text(app), pilot)


async def test_on_a_kernel_its_calls_are_traced(kernel_only, monkeypatch):
    asked = []
    monkeypatch.setattr(TraceControl, "begin", lambda _, planner, plan: asked.append((planner, plan)))
    monkeypatch.setattr("kernel.graph.failure_means.return_means", lambda _: "tests")
    app = application(kernel_only)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_compose(app, pilot)
        await choose(app, pilot, call="openat,vfs_open")
        await until(lambda: asked, pilot)
        (planner, plan) = asked[0]
        assert planner is app.planner
        assert (plan.roots, plan.returns, plan.irqs) == (("__x64_sys_openat", "vfs_open"), True, False)
        await until(lambda: isinstance(app.places.live.views.current, FailuresView), pilot)


async def test_another_target_has_all_its_failures(failures, tmp_path):
    """What was asked for of one recording is not asked for of the next."""
    other = tmp_path / "other.pwr"
    other.write_bytes(failures.read_bytes())
    app = application(failures)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_events(app, pilot)
        await choose(app, pilot, error="ENXIO")
        await until(lambda: isinstance(app.places.live.views.current, FailuresView), pilot)
        view = app.places.live.views.current
        await until(lambda: read(view) and len(view._groups) == 1, pilot)
        await pilot.press("e")
        before = app.planner
        app.open_target(str(other))
        await until(lambda: app.planner is not None and app.planner is not before, pilot)
        await open_events(app, pilot)
        await pilot.press("E")
        await until(lambda: read(view) and len(view._groups) > 10, pilot)
