"""The view of references: its table with faults first, and the gets and puts of an object."""

from __future__ import annotations

import tui.views.references.view
from tests.interface.test_app import application
from tests.interface.test_failures_view import open_failures
from tests.interface.widget_host import screen_text, until
from tests.reference_recording import reference_recording
from tests.trimmed_recordings import DATA, graph_recording, stack_recording
from tui.live.details.lines_screen import ChainScreen


async def open_references(app, pilot) -> None:
    await until(lambda: app.places.live is not None and app.places.live.is_current, pilot)
    await until(lambda: app.current_watch.ended, pilot)
    await pilot.press("R")
    assert app.places.live.views.current.name == "references"


async def test_faults_stand_first_and_enter_shows_gets_and_puts(tmp_path):
    app = application(reference_recording(tmp_path / "references.pwr"))
    async with app.run_test(size=(130, 30)) as pilot:
        await open_references(app, pilot)
        await until(lambda: any("1 leaked, 1 used after end, 1 open" in line for line in screen_text(app)), pilot)
        rows = [line.replace("▌", " ").split() for line in screen_text(app) if " file 0x" in line]
        assert [row[0] for row in rows] == ["leaked", "used", "open"]
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, ChainScreen), pilot)
        await until(lambda: any("+1 new alloc_empty_file leaky-812" in line for line in screen_text(app)), pilot)
        assert any("count 1  no put" in line for line in screen_text(app))
        await pilot.press("escape", "down", "enter")
        await until(lambda: any("-1 put fput user-701" in line for line in screen_text(app)), pilot)
        assert any("after its end" in line for line in screen_text(app))


async def test_the_line_above_has_the_last_numbers_when_nothing_arrives_any_more(tmp_path, monkeypatch):
    monkeypatch.setattr(tui.views.references.view, "_BUDGET", 1e-9)  # many ticks, as for a recording of more events
    app = application(stack_recording(tmp_path / "references.pwr", DATA / "references-7.2.pwr"))
    async with app.run_test(size=(130, 30)) as pilot:
        await open_references(app, pilot)
        await until(lambda: "5 leaked, 6 open" in app.places.live.status.line.state.note, pilot)
        rows = app.places.live.views.current.pane.ordered.rows
        assert [row[0] for row in rows] == ["leaked"] * 5 + ["open"] * 6


async def test_without_such_events_it_says_so(tmp_path):
    app = application(graph_recording(tmp_path / "graph.pwr", "failures"))
    async with app.run_test(size=(130, 30)) as pilot:
        await open_failures(app, pilot)
        await pilot.press("R")
        await until(lambda: any("no events of reference counts" in line for line in screen_text(app)), pilot)
