"""Letters that are typed ahead, or as a word, on the recording and a kernel made of a dict."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest
from textual import events

import tui.app.keyboard
from kernel.connection.open_target import TargetChoice
from tests.interface.test_app import SIZE, application, kernel_only, open_compose, pick, recording, says
from tests.interface.test_guards import Kernel, ask_for, living
from tests.interface.widget_host import paste, screen_text, until
from tui import kernel_jobs
from tui.live.event_export import EventExportScreen
from tui.messages import ProbeRejected
from widgets.dialogs.pasted_probes import PastedProbes
from widgets.dialogs.progress import ProgressDialog
from widgets.functions.function_list import FunctionList
from widgets.search_line import NameLine, SearchLine
from widgets.spec.spec_editor import SpecEditor

__all__ = ["kernel_only", "living", "recording"]


class Clock:
    """Stands still: whatever is pressed comes without a pause, but where a test makes one."""

    now = 100.0

    def __call__(self) -> float:
        return self.now

    def pause(self) -> None:
        self.now += 10


@pytest.fixture
def clock(monkeypatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(tui.app.keyboard, "CLOCK", found)
    return found


def type_at_once(app, *keys: str) -> None:
    """Keys of one packet: none waits for what another has done."""
    for key in keys:
        name, character = {" ": ("space", " "), "_": ("underscore", "_")}.get(key, (key, None))
        app.post_message(events.Key(name, character or (key if len(key) == 1 else None)))


async def at_events(app, pilot) -> None:
    await until(lambda: app.current_watch and app.current_watch.ended and app.places.live.is_current, pilot)


async def test_f2_from_live_begins_at_the_search_line_and_takes_what_was_typed_ahead(recording, clock):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await at_events(app, pilot)
        await pilot.press("f2")
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_read")
        await pilot.press("f3")
        await until(lambda: app.places.live.is_current, pilot)
        type_at_once(app, "f2", *"do_sys_open")
        functions = app.places.compose.query_one(FunctionList)
        await until(lambda: functions.query_text == "do_sys_open", pilot)
        assert isinstance(app.focused, NameLine)
        assert app.screen is app.places.compose


async def test_letters_wait_for_the_key_before_however_long_its_place_is_busy(recording, clock):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await at_events(app, pilot)
        free = asyncio.Event()
        app.screen.call_next(free.wait)
        type_at_once(app, "f2", *"do_sys_open")
        try:
            while len(app.keyboard._waiting) != len("do_sys_open"):
                await asyncio.sleep(0)
            for _ in range(3):  # as its timer does
                await app.keyboard._look()
            assert len(app.keyboard._waiting) == len("do_sys_open")
        finally:
            free.set()
        functions = app.places.compose.query_one(FunctionList)
        await until(lambda: functions.query_text == "do_sys_open", pilot)
        assert app.screen is app.places.compose


async def test_a_burst_of_a_name_enter_and_keys_for_its_fields_loses_no_enter(living, clock):
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        type_at_once(app, *"vfs_write", "enter", "b", "3", "enter", "x")
        await until(lambda: app.current_watch and app.current_watch.armed.probes, pilot)
        assert str(app.current_watch.armed.probes[0].plan.probe) == "f vfs_write%both count $retval"
        assert app.places.compose.query_one(FunctionList).query_text == "vfs_write"


async def test_letters_over_the_dialog_of_a_target_that_opens_are_for_the_search(monkeypatch, clock):
    opened, kernel = threading.Event(), Kernel(10)

    def choose(*_: object, **__: object) -> TargetChoice:
        opened.wait(60)
        return TargetChoice(kernel)

    monkeypatch.setattr("kernel.connection.open_target.choose", choose)
    app = application("fake")
    async with app.run_test(size=SIZE) as pilot:
        try:
            await until(lambda: isinstance(app.screen, ProgressDialog), pilot)
            for letter in "vfs_wr":
                clock.pause()  # each by itself: a slow typist
                await pilot.press({"_": "underscore"}.get(letter, letter))
        finally:
            opened.set()
        await open_compose(app, pilot)
        await until(lambda: app.places.compose.query_one(FunctionList).query_text == "vfs_wr", pilot)


@pytest.mark.parametrize("over_the_dialog", [False, True])
async def test_letters_for_another_target_take_the_place_of_what_was_searched(
    living, monkeypatch, clock, over_the_dialog
):
    opened, other = threading.Event(), Kernel(10)

    def choose(*_: object, **__: object) -> TargetChoice:
        opened.wait(60)
        return TargetChoice(other)

    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        functions = app.places.compose.query_one(FunctionList)
        await pilot.press(*"vfs")
        before = app.planner
        monkeypatch.setattr("kernel.connection.open_target.choose", choose)
        app.open_target("other")
        try:
            if over_the_dialog:
                await until(lambda: isinstance(app.screen, ProgressDialog), pilot)
                for letter in "sys":
                    clock.pause()  # each by itself: a slow typist
                    await pilot.press(letter)
        finally:
            opened.set()
        await until(lambda: app.planner not in (None, before) and app.screen is app.places.compose, pilot)
        if not over_the_dialog:
            clock.pause()
            await pilot.press(*"sys")
        await until(lambda: functions.query_text == "sys", pilot)


async def test_keys_behind_enter_are_for_what_has_the_keyboard_when_their_turn_comes(recording, clock, tmp_path):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await at_events(app, pilot)
        clock.pause()
        await pilot.press("o")
        await until(lambda: isinstance(app.screen, EventExportScreen), pilot)
        line = app.screen.query_one(SearchLine)
        line.value = str(tmp_path / "there.jsonl")
        (tmp_path / "there.jsonl").write_text("")
        clock.pause()
        type_at_once(app, "enter", "tab", "end", "y", "backspace", "backspace", "s")
        await until(lambda: line.value.endswith("there.jsons"), pilot)
        assert line.has_focus


async def test_a_field_is_found_and_ticked_by_keys_of_one_packet(kernel_only, clock):
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_read")
        clock.pause()
        type_at_once(app, "slash", *"f_p", "enter")
        await until(lambda: says(app, "[x] ->f_pos"), pilot)


async def test_a_word_typed_among_the_events_does_nothing_that_destroys(recording, clock):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await at_events(app, pilot)
        before, armed = len(app.current_watch.store), app.current_watch.armed.probes
        clock.pause()
        type_at_once(app, *"eckD", "enter")
        await until(lambda: any("the screen was changing: ckD" in one.text for one in app.notice_lines), pilot)
        assert (len(app.current_watch.store), app.current_watch.armed.probes) == (before, armed)
        assert app.screen is app.places.live


@pytest.mark.parametrize("place", ["f3", "f2"])
async def test_pasted_text_is_text_or_is_refused(recording, place):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await at_events(app, pilot)
        before = len(app.current_watch.store)
        await pilot.press(place)
        await paste(pilot, "cDdwk")
        if place == "f2":
            await until(lambda: app.places.compose.query_one(FunctionList).query_text == "cDdwk", pilot)
        else:
            await until(lambda: any("pasted text is for a text line" in one.text for one in app.notice_lines), pilot)
        assert len(app.current_watch.store) == before


async def test_several_lines_pasted_into_the_specification_are_several_probes(living):
    found, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await pilot.press("f6")
        await until(lambda: isinstance(app.focused, SpecEditor), pilot)
        await paste(pilot, "# reads\nf vfs_read count\n\nf nosuch_function\n  f vfs_write\nnonsense\n")
        await until(lambda: isinstance(app.screen, PastedProbes), pilot)
        for said in (
            "arm 2 of 4 probes?",
            "✓ f vfs_read count",
            "✗ f nosuch_function",
            "✗ nonsense",
            "2 lines without",
        ):
            assert says(app, said), said
        assert not app.current_watch.armed.probes
        await pilot.press("enter")
        await until(lambda: len(app.current_watch.armed.probes) == 2, pilot)
        assert sorted(str(one.plan.probe) for one in app.current_watch.armed.probes) == [
            "f vfs_read count",
            "f vfs_write",
        ]
    app.current_watch.close()
    assert not found.traces


async def test_one_line_among_comments_is_text_and_one_line_of_several_is_said(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await paste(pilot, "vfs_read\nvfs_write\n")
        functions = app.places.compose.query_one(FunctionList)
        await until(lambda: functions.query_text == "vfs_read" and says(app, "2 lines were pasted"), pilot)
        app.copy_to_clipboard("vfs_open\nx")
        await pilot.press("ctrl+u", "ctrl+v")
        await until(lambda: functions.query_text == "vfs_open", pilot)
        await pilot.press("f6")
        await until(lambda: isinstance(app.focused, SpecEditor), pilot)
        await paste(pilot, "# a comment\nf vfs_read count\n")
        await until(lambda: says(app, "1 line without a probe"), pilot)
        assert app.focused.value == "f vfs_read count"


async def test_what_a_terminal_obeys_is_shown_and_not_written_where_it_is_pasted(recording):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await at_events(app, pilot)
        await pilot.press("ctrl+p")
        await paste(pilot, "\x1b]0;title\x07\u202ereversed")
        await until(lambda: says(app, "title"), pilot)
        assert not any("\x1b" in line or "\u202e" in line for line in screen_text(app))
        await paste(pilot, "vfs_read\nvfs_write\n")
        await until(lambda: any("2 lines were pasted" in one.text for one in app.notice_lines), pilot)


async def test_a_word_behind_a_search_that_a_view_has_not_is_for_no_command(living, clock):
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await ask_for(app, pilot)
        await until(
            lambda: app.current_watch and app.current_watch.armed.probes and app.places.live.is_current, pilot
        )
        clock.pause()
        await pilot.press("s")
        await until(lambda: app.places.live.views.current.name == "summary", pilot)
        clock.pause()
        await pilot.press("/")
        await until(lambda: says(app, "nothing to search in this view"), pilot)
        type_at_once(app, *"dog")
        await until(lambda: any("the screen was changing: dog" in one.text for one in app.notice_lines), pilot)
        assert (
            app.screen is app.places.live
            and app.places.live.views.current.name == "summary"
            and app.current_watch.armed.probes
        )


async def test_a_key_that_waits_while_the_application_ends_is_nobodys(recording):
    """The reply to the key before may come when the application has no screen any more."""
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.places.live is not None and app.places.live.is_current, pilot)
        app.keyboard._under_way = True
        await app.keyboard.press(events.Key("down", None))
        assert app.keyboard._waiting
        stack = app._screen_stack
        screens = stack.copy()
        stack.clear()
        await app.keyboard.key_done()
        assert not app.keyboard._waiting
        stack.extend(screens)


async def test_keys_typed_ahead_are_commands_of_the_place_that_comes_and_a_word_is_none(recording, clock):
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await at_events(app, pilot)
        for ahead, view, said in (
            ("s", "summary", ""),
            ("xe", "events", ""),
            ("sc", "events", "the screen was changing: sc"),
            ("d", "events", "the screen was changing: d"),
            ("s_", "events", "the screen was changing: s_"),
        ):
            await pilot.press("f2")
            await until(lambda: app.screen is app.places.compose, pilot)
            before, armed = len(app.current_watch.store), app.current_watch.armed.probes
            clock.pause()
            type_at_once(app, "f3", *ahead)
            await until(partial(_shows, app, view, said), pilot)
            assert (len(app.current_watch.store), app.current_watch.armed.probes) == (before, armed)
            clock.pause()
            await pilot.press("e")
        await pilot.press("f2")
        await until(lambda: app.screen is app.places.compose, pilot)
        clock.pause()
        type_at_once(app, "f3", "s", "f2", *"vfs_re")
        functions = app.places.compose.query_one(FunctionList)
        await until(lambda: functions.query_text == "vfs_re", pilot)
        assert app.places.live.views.current.name == "summary"
        clock.pause()
        type_at_once(app, "f3", "e", "slash", *"head")
        await until(lambda: isinstance(app.focused, SearchLine) and app.focused.value == "head", pilot)


def _shows(app, view: str, said: str) -> bool:
    """Return whether a view of the events is on the screen, and something was said; empty: nothing need be."""
    views = app.places.live.views
    return (
        app.places.live.is_current
        and views.current.name == view
        and (not said or any(said in one.text for one in app.notice_lines))
    )


@pytest.mark.parametrize("end", ["armed", "refused", "late"])
async def test_letters_behind_enter_in_the_specification_are_never_written_there(living, monkeypatch, clock, end):
    free, arm = threading.Event(), kernel_jobs.arm

    def slow(watching, probe, **options):
        free.wait(60)
        if end == "refused":
            return ProbeRejected(probe, None, "no")
        return arm(watching, probe, **options)

    monkeypatch.setattr(kernel_jobs, "arm", slow)
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await pilot.press("f6")
        await until(lambda: isinstance(app.focused, SpecEditor), pilot)
        editor = app.focused
        await paste(pilot, "f vfs_read%both count")
        try:
            clock.pause()
            type_at_once(app, "enter")
            await until(lambda: app.keyboard.rule.pending, pilot)
            clock.pause()
            type_at_once(app, *"sx")
            await until(lambda: len(app.keyboard._held) == 2, pilot)
            if end == "late":
                clock.pause()
        finally:
            free.set()
        if end != "armed":
            await until(lambda: any("the screen was changing: sx" in one.text for one in app.notice_lines), pilot)
        if end == "late":
            assert app.screen is app.places.live and app.places.live.views.current.name == "events"
        elif end == "refused":
            await paste(pilot, "s")
            await until(lambda: editor.value == "f vfs_read%both counts", pilot)
        else:
            await until(
                lambda: app.screen is app.places.live and app.places.live.views.current.name == "calls", pilot
            )
            assert editor.value == "f vfs_read%both count"


async def test_who_goes_on_in_the_specification_while_a_probe_is_armed_writes_there(living, monkeypatch, clock):
    free, arm = threading.Event(), kernel_jobs.arm

    def slow(*args, **options):
        free.wait(60)
        return arm(*args, **options)

    monkeypatch.setattr(kernel_jobs, "arm", slow)
    _, app = living(10)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await pilot.press("f6")
        await until(lambda: isinstance(app.focused, SpecEditor), pilot)
        editor = app.focused
        await paste(pilot, "f vfs_read ")
        try:
            clock.pause()
            type_at_once(app, "enter")
            await until(lambda: app.keyboard.rule.pending, pilot)
            type_at_once(app, "end", *"pos")
            await until(lambda: editor.value.endswith("pos"), pilot)
        finally:
            free.set()
        await until(lambda: app.screen is app.places.live, pilot)
