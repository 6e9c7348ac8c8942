"""Text behind a key that leads to a text line, while something is under way that changes the screen by itself."""

from __future__ import annotations

import threading

import pytest
from textual.screen import ModalScreen
from textual.widgets import Input

import tui.app.keyboard
from events.export.job import Job
from kernel.watch.watch import Watch
from tests.interface.test_app import SIZE, application, open_compose, pick, recording, says
from tests.interface.test_guards import living
from tests.interface.test_typing import Clock, at_events, clock
from tests.interface.widget_host import until
from tui import kernel_jobs
from tui.app import arming_patience
from tui.commands import LEADING_KEYS
from tui.live.event_export import EventExportScreen
from widgets.dialogs.progress import ProgressDialog

__all__ = ["clock", "living", "recording"]

TEXT = "Dcwk"
"""Each letter destroys or writes among the events."""
WITHOUT_LINE = {"f1", "f3", "f9"}
"""Keys that lead to a place without a text line."""


def written(app) -> str:
    """Return the text of the line that has the keyboard."""
    return getattr(app.focused, "value", "") if isinstance(app.focused, Input) else ""


async def type_slowly(pilot, clock: Clock, text: str) -> None:
    for letter in text:
        clock.pause()
        await pilot.press(letter)


def held_back(monkeypatch) -> threading.Event:
    """Return the event for which each arming waits from now on."""
    free, arm = threading.Event(), kernel_jobs.arm

    def slow(*args, **options):
        free.wait(60)
        return arm(*args, **options)

    monkeypatch.setattr(kernel_jobs, "arm", slow)
    return free


@pytest.mark.parametrize("dialog", [False, True])
@pytest.mark.parametrize("key", sorted(LEADING_KEYS - WITHOUT_LINE))
async def test_a_text_behind_a_key_that_leads_to_a_line_is_written_there_though_a_probe_is_armed_meanwhile(
    living, monkeypatch, clock, key, dialog
):
    free = held_back(monkeypatch)
    monkeypatch.setattr(arming_patience, "_DIALOG", 0.0 if dialog else 1000.0)
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_read")
        clock.pause()
        await pilot.press("enter")
        try:
            await until(lambda: app.keyboard.rule.pending, pilot)
            if dialog:
                await until(lambda: isinstance(app.screen, ProgressDialog), pilot)
            clock.pause()
            await pilot.press(key)
            if dialog:
                await until(lambda: says(app, "waits until this is done"), pilot)
            await type_slowly(pilot, clock, TEXT[:2])
        finally:
            free.set()
        await until(lambda: app.current_watch.armed.probes and not app.keyboard.rule.pending, pilot)
        await until(lambda: not isinstance(app.screen, ProgressDialog) and not app.keyboard._held, pilot)
        await type_slowly(pilot, clock, TEXT[2:])
        if key == "f4":  # a list: it has its line when the first letter comes
            await until(lambda: says(app, f"the screen was changing: {TEXT[:2]}") and says(app, TEXT[2:]), pilot)
        else:
            await until(lambda: written(app).endswith(TEXT), pilot)
        assert len(app.current_watch.armed.probes) == 1
        assert dialog or app.current_mode != "live"


async def test_a_graph_that_begins_takes_no_line_from_who_types(living, monkeypatch, clock):
    free, begin = threading.Event(), Watch.begin

    def slow(watching: Watch) -> None:
        free.wait(60)
        begin(watching)

    monkeypatch.setattr(Watch, "begin", slow)
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_read")
        app.keyboard.begins("tracing")
        clock.pause()
        await pilot.press("f6")
        await type_slowly(pilot, clock, TEXT[:2])
        app.keyboard.ends("tracing")
        app.places.show_graph()
        await type_slowly(pilot, clock, TEXT[2:])
        await until(lambda: written(app).endswith(TEXT), pilot)
        assert app.current_mode == "compose" and says(app, "F3 goes to its events")
        free.set()


async def test_a_key_that_leads_out_of_an_export_waits_for_its_end_with_what_is_typed(
    recording, monkeypatch, clock, tmp_path
):
    step, free = Job.step, threading.Event()
    monkeypatch.setattr(Job, "step", lambda job, budget: step(job, budget) if free.is_set() else False)
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await at_events(app, pilot)
        before = len(app.current_watch.store)
        clock.pause()
        await pilot.press("o")
        await until(lambda: isinstance(app.screen, EventExportScreen), pilot)
        app.screen.query_one(Input).value = str(tmp_path / "x.jsonl")
        clock.pause()
        await pilot.press("enter")
        await until(lambda: app.screen._job is not None, pilot)
        clock.pause()
        await pilot.press("f6")
        await type_slowly(pilot, clock, TEXT)
        free.set()
        await until(lambda: written(app).endswith(TEXT), pilot)
        assert app.current_mode == "compose" and len(app.current_watch.store) == before


@pytest.mark.parametrize("key", sorted(LEADING_KEYS - {"f1"}))
async def test_a_key_that_leads_out_of_another_dialog_is_refused_and_said(recording, clock, key):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await at_events(app, pilot)
        clock.pause()
        await pilot.press("o")
        await until(lambda: isinstance(app.screen, ModalScreen), pilot)
        dialog = app.screen
        clock.pause()
        await pilot.press(key)
        await until(lambda: says(app, "leads out of this dialog: Esc leaves it"), pilot)
        assert app.screen is dialog and tui.app.keyboard.CLOCK is clock
