"""Keys that lead from one part of a screen to another, and what is said there."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

import pytest

from tests.interface.test_app import SIZE, application, kernel_only, open_compose, pick, recording, says
from tests.interface.widget_host import screen_text, until
from tui import kernel_jobs
from tui.messages import RecordingChanged
from tui.views.calls.call_text import CallTexts, detail_of_call
from tui.views.calls.view import CallsPane
from widgets.dialogs.choose import ChoiceDialog
from widgets.dialogs.pick_list import PickList
from widgets.fields.field_list import FieldList
from widgets.footer import KeyFooter
from widgets.functions.function_list import FunctionList
from widgets.search_line import NameLine, SearchLine
from widgets.spec.spec_editor import SpecEditor
from widgets.spec.spec_pane import SpecPane

__all__ = ["kernel_only", "recording"]


@pytest.mark.parametrize("key", ["f2", "escape"])
async def test_from_the_fields_back_to_the_functions(kernel_only, key):
    app = application(kernel_only)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_compose(app, pilot)
        editor = await pick(app, pilot, "vfs_read")
        await until(lambda: "esc Functions" in screen_text(app)[-1], pilot)
        await pilot.press("3", "slash", "escape")
        await until(lambda: editor.has_focus_within and not isinstance(app.focused, SearchLine), pilot)
        await pilot.press(key)
        await until(lambda: isinstance(app.focused, NameLine), pilot)
        assert isinstance(app.focused, NameLine) and app.focused.selected_text == "vfs_read"
        assert editor.probe is not None and str(editor.probe) == "f vfs_read count"
        await pilot.press("k")
        await until(lambda: app.places.compose.query_one(FunctionList).query_text == "k", pilot)


async def test_a_key_that_can_do_nothing_says_why(recording):
    whys = {
        "f7": "no connection to another machine is lost",
        "f8": "no machine is tried again",
        "f9": "one target is open",
    }
    app = application(recording)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        offered = {command.title for command in app.get_system_commands(app.screen)}
        assert "Target" in offered and not {"Hosts", "Reconnect", "Give up"} & offered
        for key, why in whys.items():
            await pilot.press(key)
            await until(partial(says, app, f"{key.upper()}: {why}"), pilot)
        assert "Hosts" not in screen_text(app)[-1] and "Reconnect" not in screen_text(app)[-1]


async def test_the_question_of_the_depth_has_its_own_keys_at_the_foot(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_read")
        await until(lambda: "enter Judge" in screen_text(app)[-1], pilot)
        await pilot.press("G")
        await until(lambda: isinstance(app.screen, ChoiceDialog), pilot)
        await until(lambda: "esc Close" in screen_text(app)[-1], pilot)
        assert "Judge" not in screen_text(app)[-1] and "Tick" not in screen_text(app)[-1]
        assert app.focused is not None and app.focused.id == "levels3"


async def test_the_specification_is_typed_from_the_live_place(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        for key in ("f6", "f6"):  # the second one finds it edited already
            await pilot.press(key)
            await until(lambda: app.places.compose.is_current and isinstance(app.focused, SpecEditor), pilot)
        await pilot.press(*"f vfs_fsync")
        assert isinstance(app.focused, SpecEditor)
        assert app.focused.value == "f vfs_fsync"


async def test_only_the_probe_under_the_cursor_is_disarmed(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        watching = app.current_watch
        assert watching and watching.store
        control = app.places.live.armed

        def disarm() -> None:
            """As the key does where a kernel runs, on which no event of this file would be."""
            control.with_probe("disarm", lambda probe: app.arming.disarm([probe]))

        disarm()
        await until(lambda: isinstance(app.screen, PickList) and says(app, "disarm which probe?"), pilot)
        await pilot.press(*"cdDk", "escape")
        await until(lambda: app.places.live.is_current, pilot)
        first, all_armed = watching.store.record(0).event, len(watching.armed.probes)
        await pilot.press("home")
        disarm()
        await until(lambda: len(watching.armed.probes) == all_armed - 1, pilot)
        app.arming.disarm(watching.armed.probes[1:])
        await until(lambda: len(watching.armed.probes) == 1, pilot)
        assert first not in {event.path for event in watching.armed.probes[0].plan.events}
        disarm()
        await until(lambda: "the probe of this event is disarmed already" in screen_text(app)[-2], pilot)
        assert len(watching.armed.probes) == 1


async def test_a_recording_is_not_recorded_again(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        await pilot.press("w")
        await until(lambda: "already a recording file" in screen_text(app)[-2], pilot)


async def test_it_is_said_that_a_probe_is_being_armed_until_it_is(recording, monkeypatch):
    go_on, arm = threading.Event(), kernel_jobs.arm

    def slow(*args, **options):
        go_on.wait(60)
        return arm(*args, **options)

    monkeypatch.setattr(kernel_jobs, "arm", slow)
    app = application(recording)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        await pilot.press("f2")
        await pick(app, pilot, "vfs_read")
        await pilot.press("enter")
        await until(lambda: "• arming f vfs_read …" in screen_text(app), pilot)
        go_on.set()
        await until(lambda: not any("arming" in one.text for one in app.notice_lines), pilot)


async def test_a_recording_is_begun_once_and_its_beginning_is_told(recording, monkeypatch):
    go_on, begun = threading.Event(), []

    def slow(watching, path):
        begun.append(path)
        go_on.wait(60)
        return RecordingChanged(f"recording to {path}")

    monkeypatch.setattr(kernel_jobs, "record", slow)
    app = application(recording)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        for name in ("a.pwr", "b.pwr"):
            app.recorder.toggle(Path(name), app.current_watch)
            told = "• beginning a.pwr: types and symbols go in first, events wait for them …"
            await until(partial(says, app, told), pilot)
        go_on.set()
        await until(lambda: "• recording to a.pwr" in screen_text(app), pilot)
        assert begun == [Path("a.pwr")]
        assert "beginning" not in "\n".join(screen_text(app))
        app.recorder.toggle(Path("b.pwr"), app.current_watch)
        await until(lambda: "• recording to b.pwr" in screen_text(app), pilot)


async def test_how_many_pairs_there_are_is_said_of_a_recording(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        await pilot.press("x")
        await until(lambda: " pairs" in screen_text(app)[1] and "■ recorded" in screen_text(app)[1], pilot)
        source = CallTexts(app.current_watch, app.current_watch.store)
        while source.calls.backlog:
            source.tick()
        await until(lambda: f" {source.calls.paired} pairs" in screen_text(app)[1], pilot)
        assert "■ recorded" in screen_text(app)[1]


@pytest.mark.usefixtures("messages_go")
async def test_what_is_true_no_more_is_said_no_more(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        await pilot.press("f2")
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_fsync")
        await pilot.press("enter")
        await until(lambda: "! not armed: " in "\n".join(screen_text(app)[-4:]), pilot)
        await pilot.press("f2")
        await pick(app, pilot, "vfs_read")
        await pilot.press("x", "enter")
        await until(lambda: app.places.live and app.places.live.is_current and not app.notice_lines, pilot)
        for text in ("recording to a.pwr", "written: a.pwr", "recording to b.pwr"):
            app.post_message(RecordingChanged(text))
            await pilot.pause()
            assert [one.text for one in app.notice_lines] == [text]


async def test_details_of_a_call_begin_with_what_was_asked_for(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended, pilot)
        watching = app.current_watch
        assert watching and watching.store
        source = CallTexts(watching, watching.store)
        while source.calls.backlog or not source.next:
            source.tick()
        pairs = [source.records(row) for row in range(source.first, source.next)]
        entry, leave = next((one, other) for one, other in pairs if one and other and "vfs_write" in one.event)
        names = [field.name for field in detail_of_call(watching, entry, leave)[1]]
        common = [name.split(": ")[1].startswith("common_") for name in names]
        assert common == sorted(common) and any(common)
        at = names.index("entry: pos_0")
        assert names[at + 1] == "exit: pos_0"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("count > lots", "count is a number, lots is none"),
        ("cuont > 3", "no field cuont: did you mean count?"),
        ("count > 999999999", "none before"),
    ],
)
async def test_a_condition_that_is_none_says_why(recording, text, why):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        await pilot.press("slash")
        assert any(line.startswith("/ ") and "count > 4096" in line for line in screen_text(app))
        await pilot.press(*text, "enter")
        await until(lambda: any(line.endswith(why) for line in screen_text(app)), pilot)


async def test_calls_are_put_in_the_order_of_their_latency(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        await pilot.press("x")
        pane = app.places.live.query_one(CallsPane)
        await until(
            lambda: pane.shown and pane.shown.items.calls.paired and not pane.shown.items.calls.backlog, pilot
        )

        def latencies():
            rows = range(pane.shown.first, pane.shown.next)
            return [pane.shown.item(row).latency for row in rows]

        by_time = latencies()
        known = [one for one in by_time if one is not None]
        unknown = [None] * (len(by_time) - len(known))
        for wanted, words in ((sorted(known, reverse=True), "the longest first"), (sorted(known), "the shortest")):
            await pilot.press("S")
            await until(partial(says, app, f"by latency, {words}"), pilot)
            assert latencies() == [*wanted, *unknown]
        await pilot.press("S")
        await until(lambda: "by latency" not in screen_text(app)[1], pilot)
        assert latencies() == by_time


@pytest.mark.parametrize(("key", "words"), [("m", "among the events: e"), (".", "f chooses calls: latency > 10us")])
async def test_a_key_of_the_events_says_among_calls_what_to_do_instead(recording, key, words):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        await pilot.press("x", key)
        await until(lambda: words in screen_text(app)[-2], pilot)


@pytest.mark.parametrize("place", ["functions", "fields", "text"])
async def test_escape_closes_the_lines_first(kernel_only, place):
    app = application(kernel_only)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_read")
        functions, spec = app.places.compose.query_one(FunctionList), app.places.compose.query_one(SpecPane)
        await pilot.press("l")
        await until(lambda: spec.lowered, pilot)
        if place != "fields":
            await pilot.press("f2" if place == "functions" else "f6")
        wanted = {"functions": NameLine, "fields": FieldList, "text": SpecEditor}[place]
        await until(lambda: isinstance(app.focused, wanted), pilot)
        await pilot.press("escape")
        await until(lambda: not spec.lowered, pilot)
        assert isinstance(app.focused, wanted)
        assert functions.query_text == "vfs_read"


async def test_what_was_asked_for_is_asked_no_more_once_it_is_done(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        await pilot.press("S")
        await until(lambda: isinstance(app.screen, PickList) and says(app, "which column?"), pilot)
        await pilot.press("down", "down", "enter")
        await until(lambda: says(app, "by task, the smallest first"), pilot)
        await pilot.press("S", "S")
        await until(lambda: not says(app, "by task"), pilot)


@pytest.mark.parametrize(("key", "asked"), [("m", 1), ("full_stop", 2), ("exclamation_mark", 2), ("K", 2)])
async def test_what_is_about_an_event_offers_those_on_the_screen(recording, key, asked):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        await pilot.press("e")
        events = app.places.live.views.current.pane
        await until(lambda: events.shown is not None and events.table.window.on_screen, pilot)
        assert events.record is None
        newest = events.shown.item(events.table.window.on_screen[-1]).seq
        await pilot.press(key)
        await until(lambda: isinstance(app.screen, PickList) and says(app, "which event?"), pilot)
        await pilot.press("down", "enter")
        if asked == 2:
            await until(lambda: isinstance(app.screen, PickList) and says(app, "which column?"), pilot)
            await pilot.press("down", "down", "enter")
        await until(lambda: events.condition or events.record is not None, pilot)
        if key == "m":
            assert events.marks == {newest - 1}
        elif key == "K":
            assert events.record.seq == newest - 1
        else:
            assert events.condition.startswith("pid " + ("==" if key == "full_stop" else "!="))


async def test_a_probe_and_a_trace_offer_the_functions_on_the_screen(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        await pilot.press("g")
        await until(app.places.live.views.current.functions_on_screen, pilot)
        first = app.places.live.views.current.functions_on_screen()[0]
        await pilot.press("p")
        await until(lambda: isinstance(app.screen, PickList) and says(app, "a probe on which function?"), pilot)
        await pilot.press("enter")
        await until(lambda: app.places.compose.panes.editor.probe is not None, pilot)
        assert app.places.compose.panes.editor.probe.place.symbol == first


async def test_a_graph_of_no_function_offers_those_in_the_list(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_compose(app, pilot)
        functions = app.places.compose.query_one(FunctionList)
        functions.query_text = "vfs_rea"
        await until(lambda: functions.on_screen[:1] == ["vfs_read"], pilot)
        app.places.compose.action_graph()
        await until(lambda: isinstance(app.screen, PickList) and says(app, "which function?"), pilot)
        await pilot.press("enter")
        await until(lambda: says(app, "Trace what vfs_read calls"), pilot)


async def test_of_a_stack_it_is_asked_of_which_probe(recording, monkeypatch):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        monkeypatch.setattr(app.places.live.views, "event_under_cursor", lambda: "ftrace/kernel_stack")
        found: list[object] = []
        app.places.live.armed.with_probe("look at", found.append)
        await until(lambda: isinstance(app.screen, PickList), pilot)
        await pilot.press("down", "enter")
        await until(lambda: found, pilot)
        assert found == [app.current_watch.armed.probes[1]]


async def test_the_foot_has_no_letter_that_is_text_now(kernel_only, recording):
    """`/` would go into what is searched; Enter and Escape are what works there."""
    app = application(kernel_only)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await until(lambda: isinstance(app.focused, NameLine), pilot)
        await until(lambda: "Pick" in foot(app) and "Search" not in foot(app), pilot)
    app = application(recording)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.places.live is not None and "Search" in foot(app), pilot)
        await until(lambda: app.current_watch and app.current_watch.ended, pilot)
        await pilot.press("/")
        await until(lambda: foot(app)[:2] == ["Find", "End search"] and "Search" not in foot(app), pilot)
        await pilot.press(*"cat", "enter")
        await until(
            lambda: not isinstance(app.focused, SearchLine) and app.places.live.views.current.pane.table.cursor > 0,
            pilot,
        )
        assert "Search" in foot(app) and "Find" not in foot(app)
        await pilot.press("escape")
        await until(lambda: "End search" not in foot(app), pilot)


def foot(app) -> list[str]:
    """Labels of the keys at the bottom."""
    return [key.label for key in app.screen.query_one(KeyFooter).keys]
