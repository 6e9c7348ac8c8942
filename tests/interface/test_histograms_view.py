"""Tables of hist triggers, and what the line above the events says while the kernel counts."""

from __future__ import annotations

import json
from functools import partial

import pytest

import kernel.connection.open_target
from kernel.connection.open_target import TargetChoice, shipped_recording
from kernel.session.armed import Armed
from kernel.session.probe_steps import Mode
from tests.fake_hist import HistKernel
from tests.interface.test_app import SIZE, application, open_compose, pick
from tests.interface.test_guards import Kernel, ask_for
from tests.interface.test_typing import paste
from tests.interface.widget_host import screen_text, until
from tui.app.typed_ahead import PAUSE
from tui.live.event_export import EventExportScreen
from tui.live.triggers import TriggerScreen
from tui.present.ways_out import ADD_TRIGGER
from widgets.search_line import SearchLine
from widgets.spec.spec_editor import SpecEditor


class HistLiving(HistKernel, Kernel):
    """A kernel with hist triggers, on which the application runs."""


@pytest.fixture
def living(monkeypatch):
    found = HistLiving(0)
    monkeypatch.setattr(kernel.connection.open_target, "choose", lambda *_, **_more: TargetChoice(found))
    return found


async def arm_asked_for(app, pilot) -> Armed:
    """Arm the probe that is asked for, and go to its events; return it."""
    await ask_for(app, pilot)
    await until(lambda: app.current_watch and app.current_watch.armed.probes and app.screen is app.places.live, pilot)
    (armed,) = app.current_watch.armed.probes
    return armed


def said(app, text: str) -> bool:
    return any(text in line for line in screen_text(app))


async def test_a_hist_trigger_has_its_table_and_counting_in_the_kernel_is_told(living):
    app = application("fake")
    async with app.run_test(size=SIZE) as pilot:
        armed = await arm_asked_for(app, pilot)
        event = armed.plan.events[0]
        await until(lambda: said(app, "● following"), pilot)
        await pilot.press("b")
        await until(lambda: said(app, "[histograms]") and said(app, "T gives it one"), pilot)
        await pilot.press("T")
        await until(lambda: isinstance(app.screen, TriggerScreen), pilot)
        await pilot.press(*"hist:keys=common_pid.execname", "enter")
        await until(lambda: living.on(event.path), pilot)
        await pilot.press("escape")
        await until(lambda: said(app, "hist:keys=common_pid.execname:vals=hitcount"), pilot)
        for _ in range(1234):
            living.hit(event.path)
        await until(lambda: said(app, "1,234 hits, 1 entry"), pilot)

        await pilot.press("s", "k")
        await until(lambda: said(app, "■ counting in the kernel") and said(app, "0 hits since it began"), pilot)
        assert app.current_watch.session.probes.mode(armed) is Mode.COUNT
        living.hit(event.path)
        await until(lambda: said(app, "in the kernel: 1 hit since it began"), pilot)
        for answer, hits in (("enter", "1 hit"), ("y", "0 hits")):  # it can't be taken back, so Enter means no
            await pilot.press("c")
            await until(lambda: said(app, "Count from 0 on?"), pilot)
            await pilot.press(answer)
            await until(partial(said, app, f"in the kernel: {hits} since it began"), pilot)
        await pilot.press("e")
        await until(lambda: said(app, "[events]") and said(app, "■ counting in the kernel"), pilot)
        await pilot.press("b")
        await until(lambda: said(app, "1,235 hits, 1 entry"), pilot)
        assert len(living.on(event.path)) > 1 and not said(app, "name=pw_"), "those that the session keeps for itself"
        await pilot.press("T")
        await until(lambda: isinstance(app.screen, TriggerScreen), pilot)
        assert app.screen._list.option_count == 1
        await pilot.press("escape", "s", "k")
        await until(lambda: said(app, "● following"), pilot)
        assert app.current_watch.session.probes.mode(armed) is Mode.RECORD
        assert [hist.written for hist in living.on(event.path)] == ["hist:keys=common_pid.execname"]
        await pilot.press("k")
        await until(lambda: said(app, "■ counting in the kernel"), pilot)
        app.arming.disarm(app.current_watch.armed.probes)
        await until(lambda: not app.current_watch.armed.probes, pilot)
        await until(lambda: not said(app, "counting in the kernel"), pilot)
    app.current_watch.close()
    assert not living.traces and not living.guarded


async def test_what_the_kernel_counts_is_given_out_as_it_is_shown(living, tmp_path):
    """Also where no event came: counting in the kernel is what one does instead."""

    async def given_out(title: str) -> list[dict[str, object]]:
        await pilot.press("o")
        await until(lambda: isinstance(app.screen, EventExportScreen), pilot)
        dialog = app.screen
        place = [one.title for one in dialog._offered].index(title)
        path = tmp_path / f"{title.partition(':')[0]}.jsonl"
        dialog.query_one(SearchLine).value = str(path)
        await pilot.press(*["down"] * place)
        await until(lambda: dialog._list.cursor == place, pilot)
        await pilot.press("enter")
        await until(lambda: app.screen is app.places.live and path.exists(), pilot)
        return [json.loads(line) for line in path.read_text().splitlines()]

    app = application("fake")
    async with app.run_test(size=SIZE) as pilot:
        await arm_asked_for(app, pilot)
        event = app.current_watch.armed.probes[0].plan.events[0]
        await pilot.press("b")
        await until(lambda: said(app, "[histograms]") and said(app, "T gives it one"), pilot)
        await pilot.press("o")
        await until(lambda: any("no events to export" in one.text for one in app.notice_lines), pilot)
        await pilot.press("T")
        await until(lambda: isinstance(app.screen, TriggerScreen), pilot)
        await pilot.press(*"hist:keys=common_pid", "enter")
        await until(lambda: living.on(event.path), pilot)
        await pilot.press("escape")
        await until(lambda: said(app, "hist:keys=common_pid:vals=hitcount"), pilot)
        for _ in range(12):
            living.hit(event.path)
        (table,) = await given_out("histograms: JSON lines")
        assert (table["summary"], table["hits"], table["cuts"]) == ("hist", 12, 0)
        await pilot.press("s", "k")
        await until(lambda: said(app, "in the kernel: 0 hits since it began"), pilot)
        living.hit(event.path)
        sums = await given_out("summary: JSON lines")
        assert [one["events"] for one in sums if one["summary"] == "hits"] == [1]
    app.current_watch.close()


async def paste_a_count_and_change_it(app, pilot) -> None:
    """Take a probe out of a program of bpftrace that counts, and record one thing more."""
    await open_compose(app, pilot)
    await pilot.press("f6")
    await until(lambda: isinstance(app.focused, SpecEditor), pilot)
    await paste(pilot, "kprobe:vfs_read { @[tid] = count(); }")
    await until(lambda: said(app, "put right (tab): p vfs_read"), pilot)
    await pilot.press("tab")
    await until(lambda: said(app, "note: with hist:keys=common_pid"), pilot)
    await pilot.press(*" $comm")


async def test_what_a_pasted_program_counts_is_armed_with_it_and_its_table_is_shown(living):
    app = application("fake")
    async with app.run_test(size=SIZE) as pilot:
        await paste_a_count_and_change_it(app, pilot)
        await until(lambda: not said(app, "note: with"), pilot)
        await pilot.press(*["backspace"] * 6)
        await until(lambda: said(app, "note: with hist:keys=common_pid"), pilot)
        await pilot.press("enter")
        await until(
            lambda: app.current_watch and app.current_watch.armed.probes and app.screen is app.places.live, pilot
        )
        await until(lambda: said(app, "[histograms]") and said(app, "hist:keys=common_pid:vals=hitcount"), pilot)
        event = app.current_watch.armed.probes[0].plan.events[0]
        assert [hist.written for hist in living.on(event.path)] == ["hist:keys=common_pid"]
    app.current_watch.close()


async def test_what_a_changed_program_counted_is_one_key_away(living):
    app = application("fake")
    async with app.run_test(size=SIZE) as pilot:
        await paste_a_count_and_change_it(app, pilot)
        await until(lambda: said(app, f"hist:keys=common_pid is left out; once it is armed {ADD_TRIGGER}"), pilot)
        await pilot.press("enter")
        await until(
            lambda: app.current_watch and app.current_watch.armed.probes and app.screen is app.places.live, pilot
        )
        event = app.current_watch.armed.probes[0].plan.events[0]
        await until(lambda: said(app, "● following"), pilot)
        assert not living.on(event.path)
        await pilot.pause(PAUSE)
        await pilot.press("T")
        await until(lambda: said(app, "✓ this kernel takes it: Enter"), pilot)
        assert app.screen._input.value == "hist:keys=common_pid"
        await pilot.press("enter")
        await until(lambda: living.on(event.path), pilot)
        await until(lambda: app.screen._list.option_count == 1, pilot)
        await pilot.press("escape", "b")
        await until(lambda: said(app, "hist:keys=common_pid:vals=hitcount"), pilot)
        await pilot.press("T")
        await until(lambda: isinstance(app.screen, TriggerScreen), pilot)
        assert app.screen._input.value == "", "it has it already"
    app.current_watch.close()


async def test_another_trigger_is_typed_over_the_one_that_is_offered(living):
    app = application("fake")
    async with app.run_test(size=SIZE) as pilot:
        armed = await arm_asked_for(app, pilot)
        app.push_screen(TriggerScreen(app, app.current_watch, armed, ["hist:keys=nosuch", "hist:keys=common_pid"]))
        await until(lambda: said(app, "✓ this kernel takes it: Enter"), pilot)
        assert app.screen._input.value == "hist:keys=common_pid", "the first that this kernel takes"
        await pilot.press(*"stacktrace")
        await until(lambda: app.screen._input.value == "stacktrace", pilot)
    app.current_watch.close()


async def test_each_pasted_probe_is_armed_with_what_it_counts(living):
    app = application("fake")
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await pilot.press("f6")
        await until(lambda: isinstance(app.focused, SpecEditor), pilot)
        await paste(pilot, "kprobe:vfs_read { @[tid] = count(); } kprobe:vfs_write { @[cpu] = count(); }")
        await until(lambda: said(app, "arm 2 of 2 probes?"), pilot)
        assert said(app, "with hist:keys=common_pid") and said(app, "with hist:keys=common_cpu")
        await pilot.press("enter")
        await until(lambda: app.current_watch and len(app.current_watch.armed.probes) == 2, pilot)
        paths = {one.plan.probe.subject: one.plan.events[0].path for one in app.current_watch.armed.probes}
        await until(lambda: all(living.on(path) for path in paths.values()), pilot)
        written = {name: [hist.written for hist in living.on(path)] for name, path in paths.items()}
        assert written == {"vfs_read": ["hist:keys=common_pid"], "vfs_write": ["hist:keys=common_cpu"]}
    app.current_watch.close()


async def test_a_measured_time_is_shown_among_the_events(living):
    """Its own hist triggers count nothing for anybody."""
    app = application("fake")
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await pilot.press("f6")
        await until(lambda: isinstance(app.focused, SpecEditor), pilot)
        await paste(pilot, "lat:slow {f vfs_read count} to {f vfs_read%return} by common_pid")
        await until(lambda: app.places.compose.specification.current is not None, pilot)
        await pilot.press("enter")
        await until(
            lambda: app.current_watch and app.current_watch.armed.probes and app.screen is app.places.live, pilot
        )
        await pilot.pause()
        assert app.places.live.views.current.name == "events"
    app.current_watch.close()


async def test_a_recording_has_no_tables():
    app = application(shipped_recording())
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.places.live is not None and app.current_watch and app.current_watch.ended, pilot)
        await pilot.press("b")
        await until(lambda: said(app, "[histograms]") and said(app, "no probe has a hist trigger"), pilot)


async def test_a_probe_armed_while_the_kernel_counts_is_shown_among_the_events(living):
    app = application("fake")
    async with app.run_test(size=SIZE) as pilot:
        await arm_asked_for(app, pilot)
        await pilot.press("s", "k")
        await until(lambda: said(app, "■ counting in the kernel"), pilot)
        assert not any("/s " in line for line in screen_text(app)[:2])
        await pilot.press("f2")
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_write")
        await pilot.press("enter")
        await until(
            lambda: len(app.current_watch.armed.probes) == 2 and app.places.live.views.current.name == "events", pilot
        )


async def test_each_change_of_who_counts_is_said_as_it_is_and_taken_back(living):
    app = application("fake")
    async with app.run_test(size=SIZE) as pilot:
        armed = await arm_asked_for(app, pilot)
        modes = {True: (Mode.COUNT, "■ counting in the kernel"), False: (Mode.RECORD, "● following")}

        async def shows(counted: bool) -> None:
            mode, words = modes[counted]
            await until(lambda: said(app, words) and app.current_watch.session.probes.mode(armed) is mode, pilot)
            await until(lambda: not app.places.live.views.current.pane.changing, pilot)

        await until(lambda: said(app, "● following"), pilot)
        await pilot.pause(PAUSE + 0.1)
        await pilot.press("s")
        for counted in (True, False, True, False):
            await pilot.pause(PAUSE + 0.1)
            await pilot.press("k")
            await shows(counted)
            told = "counted in the kernel, nothing is recorded" if counted else "events again"
            await until(partial(said, app, f"{told}; u takes it back"), pilot)
            await pilot.pause(PAUSE + 0.1)
            await pilot.press("u")
            await shows(not counted)
            await until(partial(said, app, f"taken back: {told}"), pilot)
            await pilot.pause(PAUSE + 0.1)
            await pilot.press("k")
            await shows(counted)
    app.current_watch.close()


async def arm_another(app, pilot, name: str) -> Armed:
    """Arm one more probe, recorded; return it."""
    there = len(app.current_watch.armed.probes)
    await pilot.press("f2")
    await open_compose(app, pilot)
    await pick(app, pilot, name)
    await pilot.press("enter")
    await until(
        lambda: len(app.current_watch.armed.probes) == there + 1 and app.places.live.views.current.name == "events",
        pilot,
    )
    await pilot.pause(PAUSE + 0.1)
    return app.current_watch.armed.probes[-1]


async def press(app, pilot, *keys: str) -> None:
    """Press commands of a person who looks before each: what is said to be under way is waited for."""
    for key in keys:
        await until(lambda: not getattr(app.places.live.views.current.pane, "changing", 0), pilot)
        await pilot.pause(PAUSE + 0.1)
        await pilot.press(key)


def modes(app) -> list[Mode]:
    return list(app.current_watch.armed.modes)


@pytest.mark.parametrize("others", [False, True])
async def test_a_counted_probe_that_was_disarmed_is_counted_again_and_recorded_after_it(living, others):
    app = application("fake")
    async with app.run_test(size=SIZE) as pilot:
        armed = await arm_asked_for(app, pilot)
        if others:
            await arm_another(app, pilot, "vfs_write")
        await press(app, pilot, "s", "k")
        await until(lambda: said(app, "0 hits since it began"), pilot)
        app.arming.disarm([armed])
        await until(lambda: len(app.current_watch.armed.probes) == others and app.undo, pilot)
        await press(app, pilot, "u")
        await until(lambda: len(app.current_watch.armed.probes) == others + 1, pilot)
        await until(lambda: said(app, "■ counting in the kernel"), pilot)
        again = app.current_watch.armed.probes[-1]
        for _ in range(3):
            living.hit(again.plan.events[0].path)
        await until(lambda: said(app, "3 hits since it began"), pilot)
        assert modes(app) == [Mode.COUNT] * (others + 1) and again.key is armed.key
        await press(app, pilot, "k")
        await until(lambda: modes(app) == [Mode.RECORD] * (others + 1) and said(app, "● following"), pilot)
    app.current_watch.close()
    assert not living.traces and not living.guarded


async def test_only_the_probes_that_were_counted_are_counted_when_their_end_is_taken_back(living):
    app = application("fake")
    async with app.run_test(size=SIZE) as pilot:
        await arm_asked_for(app, pilot)
        await press(app, pilot, "s", "k")
        await until(lambda: said(app, "0 hits since it began, nothing recorded"), pilot)
        await arm_another(app, pilot, "vfs_write")
        await press(app, pilot, "s")
        await until(lambda: said(app, "0 hits since it began, 1 of 2 probes recorded"), pilot)
        await press(app, pilot, "v")  # the values of another field, of the same probes
        await until(lambda: not app.places.live.views.current.pane.changing, pilot)
        assert modes(app) == [Mode.COUNT, Mode.RECORD]
        await press(app, pilot, "k")
        await until(lambda: modes(app) == [Mode.RECORD] * 2, pilot)
        await press(app, pilot, "u")
        await until(lambda: said(app, "taken back: events again") and said(app, "1 of 2 probes recorded"), pilot)
        assert modes(app) == [Mode.COUNT, Mode.RECORD]
    app.current_watch.close()
    assert not living.traces and not living.guarded


@pytest.mark.parametrize(
    ("others", "says", "after"),
    [(False, "count only again", [Mode.COUNT]), (True, "record 1 of 2 probes again", [Mode.COUNT, Mode.RECORD])],
)
async def test_the_key_that_ends_counting_says_what_it_does(living, others, says, after):
    app = application("fake")
    async with app.run_test(size=SIZE) as pilot:
        armed = await arm_asked_for(app, pilot)
        if others:
            await arm_another(app, pilot, "vfs_write")
        assert app.current_watch.armed.switch(armed, Mode.COUNT) == []
        await press(app, pilot, "s", "k")
        await until(lambda: said(app, "nothing recorded") and said(app, f"k: {says}"), pilot)
        await press(app, pilot, "k")
        await until(lambda: said(app, f"{says}; u takes it back") and modes(app) == after, pilot)
    app.current_watch.close()
