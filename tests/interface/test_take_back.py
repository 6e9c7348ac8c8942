"""What destroys asks before, or is taken back by `u`; what needs a choice offers a list."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from kernel.session.probe_steps import Mode
from tests.interface.test_app import SIZE, application, open_compose, pick, recording, says
from tests.interface.test_guards import living
from tests.interface.widget_host import paste, screen_text, until
from tui import kernel_jobs
from tui.live.triggers import TriggerScreen
from tui.present.ways_out import NO_FILTER
from widgets.dialogs.form import FormDialog
from widgets.dialogs.pick_list import PickList

__all__ = ["living", "recording"]


async def at_events(app, pilot) -> None:
    await until(lambda: app.current_watch and app.current_watch.ended and app.places.live.is_current, pilot)


async def arm(app, pilot, *names: str) -> None:
    """Arm probes on functions, from the search line on."""
    for name in names:
        there = len(app.current_watch.armed.probes) if app.current_watch else 0
        await pilot.press("f2")
        await open_compose(app, pilot)
        await pick(app, pilot, name)
        await pilot.press("enter")
        await until(partial(_is_armed, app, there + 1), pilot)
        await until(lambda: app.places.live.is_current, pilot)


def _is_filtered(app, text: str) -> bool:
    return app.places.live.filter.text == text and (not text or says(app, f"filter {text}"))


def _is_armed(app, number: int) -> bool:
    return bool(app.current_watch) and len(app.current_watch.armed.probes) == number


async def test_what_was_cleared_comes_back(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await at_events(app, pilot)
        every = len(app.current_watch.store)
        last = screen_text(app)[-4]
        assert "u Take back" not in screen_text(app)[-1]
        for _ in range(2):
            await pilot.press("c")
            await until(lambda: not len(app.current_watch.store) and says(app, "u takes it back"), pilot)
            assert not app.current_watch.store.evicted
        await until(lambda: "u Take back" in screen_text(app)[-1], pilot)
        await pilot.press("u")
        await until(lambda: len(app.current_watch.store) == every, pilot)
        await until(lambda: screen_text(app)[-4] == last and "u Take back" not in screen_text(app)[-1], pilot)


@pytest.mark.usefixtures("messages_go")
@pytest.mark.parametrize("view", ["g", "x", "s"])
async def test_every_view_shows_again_what_was_cleared(recording, view):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await at_events(app, pilot)
        await pilot.press(view)
        await pilot.pause(0.5)
        await until(
            lambda: not app.places.live.views.current.tick(app.current_watch, app.current_watch.store, ()), pilot
        )
        rows = screen_text(app)[2:-2]
        await pilot.press("c")
        await until(lambda: screen_text(app)[2:-2] != rows, pilot)
        await pilot.press("u")
        await until(lambda: screen_text(app)[3:-3] == rows[1:-1], pilot)


async def test_a_filter_is_taken_back_to_the_one_before(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await at_events(app, pilot)
        chosen = app.places.live.filter
        await pilot.press("f", *"comm == cat", "enter")
        await until(lambda: chosen.text == "comm == cat" and says(app, "u takes it back"), pilot)
        await pilot.press("f", "ctrl+u", *"ret < 0", "enter")
        await until(lambda: chosen.text == "ret < 0", pilot)
        await pilot.press("f", "ctrl+u", "enter")
        await until(lambda: not chosen.text and len(app.undo) == 3, pilot)
        for text in ("ret < 0", "comm == cat", ""):
            await pilot.press("u")
            await until(partial(_is_filtered, app, text), pilot)
        assert not app.undo


@pytest.mark.parametrize(("shown", "then"), [("x", "events"), ("g", "events"), ("b", "events"), ("s", "summary")])
async def test_after_arming_a_view_that_cannot_show_the_probe_gives_way_to_the_events(living, shown, then):
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await arm(app, pilot, "vfs_read")
        await pilot.press(shown)
        await until(lambda: app.places.live.views.current.name != "events", pilot)
        await arm(app, pilot, "vfs_write")
        await until(lambda: app.places.live.views.current.name == then, pilot)


async def test_after_arming_a_filter_that_hides_what_comes_is_said_until_it_goes(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await at_events(app, pilot)
        await pilot.press("x", "f", *"comm == nobody", "enter")
        await until(lambda: app.places.live.filter.text == "comm == nobody", pilot)
        await pilot.press("f2")
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_write")
        await pilot.press("b", "3", "enter")
        await until(lambda: says(app, f"hides vfs_write: {NO_FILTER}"), pilot)
        await pilot.press("u")
        await until(lambda: not app.places.live.filter.text and not says(app, str(NO_FILTER)), pilot)


async def test_after_arming_both_ends_the_calls_stay(living):
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await arm(app, pilot, "vfs_read")
        await pilot.press("x")
        await until(lambda: app.places.live.views.current.name == "calls", pilot)
        await pilot.press("f2")
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_write")
        await pilot.press("b", "enter")
        await until(partial(_is_armed, app, 2), pilot)
        await until(lambda: app.places.live.is_current, pilot)
        await pilot.pause()
        assert app.places.live.views.current.name == "calls"


async def test_probes_that_were_disarmed_are_armed_again_as_they_were(living):
    found, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await arm(app, pilot, "vfs_read", "vfs_write")
        before = [armed.plan for armed in app.current_watch.armed.probes]
        assert app.current_watch.session.probes.switch(app.current_watch.armed.probes[1], Mode.COUNT) == []
        await pilot.press("D")
        await until(lambda: not app.current_watch.armed.probes and app.undo, pilot)
        await pilot.press("u")
        await until(lambda: len(app.current_watch.armed.probes) == 2, pilot)
        await until(lambda: says(app, "armed again: vfs_read, vfs_write"), pilot)
        session = app.current_watch.session
        assert [armed.plan for armed in session.probes.armed] == before
        assert [session.probes.mode(armed) for armed in session.probes.armed] == [Mode.RECORD, Mode.COUNT]
        assert not app.undo
    app.current_watch.close()
    assert not found.traces


async def test_nothing_older_is_taken_back_while_probes_are_being_disarmed(living, monkeypatch):
    _, app = living(10)
    disarm, free = kernel_jobs.disarm, threading.Event()

    def slow(*args):
        free.wait(60)
        return disarm(*args)

    monkeypatch.setattr(kernel_jobs, "disarm", slow)
    async with app.run_test(size=SIZE) as pilot:
        await arm(app, pilot, "vfs_read")
        await pilot.press("f")
        await paste(pilot, "cpu >= 0")
        await pilot.press("enter")
        await until(lambda: len(app.undo) == 1, pilot)
        try:
            await pilot.press("D", "u")
            await until(lambda: says(app, "still being made"), pilot)
            assert app.places.live.views.current.filter.text == "cpu >= 0"
        finally:
            free.set()
        await until(lambda: not app.current_watch.armed.probes and len(app.undo) == 2, pilot)
        await pilot.press("u")
        await until(lambda: len(app.current_watch.armed.probes) == 1, pilot)
        await pilot.press("u")
        await until(lambda: not app.places.live.views.current.filter.text, pilot)
    app.current_watch.close()


async def test_a_trigger_for_one_of_several_probes_asks_for_which(living):
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await arm(app, pilot, "vfs_read", "vfs_write")
        await pilot.press("T")
        await until(lambda: isinstance(app.screen, PickList) and says(app, "f vfs_write"), pilot)
        await pilot.press(*"ckdD")
        assert len(app.current_watch.armed.probes) == 2
        await pilot.press("down", "enter")
        await until(lambda: isinstance(app.screen, TriggerScreen) and says(app, "triggers of vfs_write"), pilot)


async def test_a_recording_is_begun_and_ended_after_a_question(living, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await arm(app, pilot, "vfs_read")
        await pilot.press("w")
        await until(lambda: isinstance(app.screen, FormDialog), pilot)
        await pilot.press("escape")
        await until(lambda: app.places.live.is_current, pilot)
        assert not list(tmp_path.iterdir())
        await pilot.press("w")
        await until(lambda: isinstance(app.screen, FormDialog), pilot)
        await pilot.press("enter")
        await until(lambda: app.current_watch.recording.recorder is not None, pilot)
        await pilot.press("w")
        await until(lambda: says(app, "End the recording probewright-"), pilot)
        await pilot.press("escape")
        assert app.current_watch.recording.recorder is not None
        await pilot.press("w")
        await until(lambda: says(app, "End the recording probewright-"), pilot)
        await pilot.press("y")
        await until(lambda: app.current_watch.recording.recorder is None and list(tmp_path.glob("*.pwr")), pilot)
    app.current_watch.close()


async def test_a_recording_goes_where_it_is_wanted(living, tmp_path, monkeypatch):
    """Names that are taken, or of no folder, are said while they are typed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "kept").mkdir()
    (tmp_path / "there.pwr").write_bytes(b"mine")
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await arm(app, pilot, "vfs_read")
        await pilot.press("w")
        await until(lambda: isinstance(app.screen, FormDialog), pilot)
        for name, why in (
            ("there.pwr", "there.pwr is there already"),
            ("nowhere/a.pwr", "nowhere is no folder"),
            ("kept", "kept is a folder"),
            ("~nosuch/a.pwr", "~nosuch is no folder"),
        ):
            await pilot.press("ctrl+u", *name)
            await until(partial(says, app, why), pilot)
            await pilot.press("enter")
            assert isinstance(app.screen, FormDialog) and app.current_watch.recording.recorder is None
        await pilot.press("ctrl+u", *"~/kept/a b.pwr", "enter")
        await until(lambda: app.current_watch.recording.recorder is not None, pilot)
        assert app.current_watch.recording.recorder.path == tmp_path / "kept" / "a b.pwr"
        await pilot.press("w")
        await until(lambda: says(app, "End the recording a b.pwr"), pilot)
        await pilot.press("y")
        await until(lambda: app.current_watch.recording.recorder is None, pilot)
    app.current_watch.close()
    assert (tmp_path / "kept" / "a b.pwr").exists() and (tmp_path / "there.pwr").read_bytes() == b"mine"


async def test_a_recording_that_begins_is_ended_by_the_key_that_begins_one(living, tmp_path, monkeypatch):
    """No second file is asked for: that one would not be written."""
    monkeypatch.chdir(tmp_path)
    free, record, stop, finish = threading.Event(), kernel_jobs.record, threading.Event(), kernel_jobs.stop_recording

    def slow(watching, path):
        free.wait(60)
        return record(watching, path)

    def slowly_ended(watching):
        stop.wait(60)
        return finish(watching)

    monkeypatch.setattr(kernel_jobs, "record", slow)
    monkeypatch.setattr(kernel_jobs, "stop_recording", slowly_ended)
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await arm(app, pilot, "vfs_read")
        await pilot.press("w")
        await until(lambda: says(app, "Record to which file?") and says(app, "probewright-"), pilot)
        await pilot.press("enter")
        await until(lambda: says(app, "types and symbols go in first"), pilot)
        await until(lambda: app.places.live.is_current, pilot)
        name = app.recorder.beginning.name
        await pilot.press("w")
        await until(lambda: says(app, f"End the recording {name}?"), pilot)
        await pilot.press("y")
        await until(lambda: says(app, f"{name} ends as soon as"), pilot)
        free.set()
        await until(lambda: says(app, f"finishing {name}"), pilot)
        await until(lambda: app.places.live.is_current, pilot)
        await pilot.press("w")
        await pilot.pause()
        assert app.places.live.is_current, "nothing is asked: it is being finished"
        stop.set()
        await until(lambda: app.current_watch.recording.recorder is None and says(app, "written: "), pilot)
        assert [one.name for one in tmp_path.glob("*.pwr")] == [name]
    app.current_watch.close()


@pytest.mark.parametrize(("key", "mode"), [("c", Mode.COUNT), ("m", None), ("b", None)])
async def test_a_remedy_is_taken_back(living, key, mode):
    found, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await arm(app, pilot, "vfs_read")
        before, size = app.current_watch.armed.probes[0], app.current_watch.session.buffer_kb
        await pilot.press("L")
        await until(lambda: says(app, "1.4 MB"), pilot)
        await pilot.press(key)
        if key == "m":  # no kretprobe
            await until(lambda: app.notice_lines, pilot)
            assert not app.undo
            return
        await until(lambda: app.undo, pilot)
        assert mode is None or app.current_watch.session.probes.mode(app.current_watch.armed.probes[0]) is mode
        await pilot.press("u")
        await until(
            lambda: (
                not app.undo
                and app.current_watch.session.probes.mode(app.current_watch.armed.probes[0]) is Mode.RECORD
            ),
            pilot,
        )
        await until(lambda: app.current_watch.session.buffer_kb == size, pilot)
        assert app.current_watch.armed.probes[0].plan == before.plan
    app.current_watch.close()
    assert not found.traces


async def test_a_step_that_cannot_be_taken_back_says_why_and_not_that_it_is(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await at_events(app, pilot)
        app.undo.add("counted there", lambda: "its probe is gone")
        app.undo.take_back()
        await until(lambda: says(app, "its probe is gone") and not says(app, "taken back"), pilot)
