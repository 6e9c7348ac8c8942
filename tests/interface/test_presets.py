"""Presets on the screen: found, judged for the target, their values asked for, armed, saved, edited."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from kernel.preset_files import Presets
from probes.presets.read import read_preset
from tests.events_recording import SHIPPED
from tests.interface.test_app import application, kernel_only, open_compose, pick, recording
from tests.interface.widget_host import screen_text, until
from tui.app import target_control
from tui.app.app import Probewright
from tui.app.arming_control import ArmingControl
from tui.dialogs import preset_model as decisions
from tui.dialogs.preset_screen import PresetScreen
from tui.opening import Opening
from tui.views.calls.view import CallsPane
from tui.views.events.pane import EventsPane
from widgets.dialogs.form import FormDialog
from widgets.dialogs.preset_chooser import PresetChooser

__all__ = ["kernel_only", "recording"]

WORKING = (
    *("exec-arguments", "failed-syscalls", "first-failure", "packet-drops", "run-queue-delay", "slow-opens"),
    "who-kills",
)
"""Presets that the recording that ships can do."""

OWN = """version = 1
name = "reads"
title = "Reads of a size"
question = "Who reads how much?"
tags = ["own"]
view = "events"
probes = ["f vfs_read%return file->f_pos count $retval if count > ${least}"]  # the heart of it

[parameters.least]
type = "int"
default = "100"
"""


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config/probewright/presets"


def text(app) -> str:
    return "\n".join(screen_text(app))


async def open_presets(app, pilot) -> PresetChooser:
    await pilot.press("f5")
    await until(lambda: isinstance(app.screen, PresetScreen) and app.screen.query_one(PresetChooser).current, pilot)
    return app.screen.query_one(PresetChooser)


async def at_recorded_preset(app, pilot, name: str) -> None:
    """Put the cursor on a preset once the recording was read."""
    await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
    chooser = await open_presets(app, pilot)
    await pilot.press(*name)
    await until(lambda: chooser.current and chooser.current.name == name, pilot)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_one_is_found_by_words_and_tags_and_judged_for_the_target(kernel_only, size):
    app = application(kernel_only)
    async with app.run_test(size=size) as pilot:
        await open_compose(app, pilot)
        chooser = await open_presets(app, pilot)
        every = len(decisions.listed())
        assert f"{every} of {every}" in text(app)
        await pilot.press(*"#latency mutex")
        await until(lambda: chooser.current and chooser.current.name == "mutex-hold", pilot)
        await until(lambda: "accepted by Linux 7.2" in text(app), pilot)
        assert "Which mutexes of the kernel are held for long" in text(app)
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, PresetScreen), pilot)


async def test_where_no_tag_fits_those_that_there_are_are_named(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_compose(app, pilot)
        chooser = await open_presets(app, pilot)
        await pilot.press(*"#net")
        await until(lambda: chooser.current is None and "tags that there are:" in text(app), pilot)
        tags = {tag for one in decisions.listed() if one.preset for tag in one.preset.tags}
        assert tags and all(f"#{tag}" in text(app) for tag in tags)
        await pilot.press(*["backspace"] * 4, *"nowhere")
        await until(lambda: chooser.current is None and "nothing fits" in text(app), pilot)
        assert "tags" not in text(app)
        await pilot.press(*["backspace"] * 7, *"slow opns mutx")
        await until(lambda: "opns: did you mean open" in text(app), pilot)
        assert "mutx: did you mean mutex" in text(app)
        assert "slow:" not in text(app), "there are presets with that word"


async def test_what_the_target_refuses_says_why_and_is_not_armed(kernel_only, folders):
    folders.mkdir(parents=True)
    (folders / "reads.toml").write_text(OWN.replace("vfs_read", "vfs_reed"))
    app = application(kernel_only)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_compose(app, pilot)
        chooser = await open_presets(app, pilot)
        await pilot.press(*"reads")
        await until(lambda: chooser.current and chooser.current.name == "reads" and "✗" in text(app), pilot)
        await pilot.press("enter")  # its values are not asked for: none would change that
        await until(lambda: "not armed" in text(app), pilot)
        assert isinstance(app.screen, PresetScreen) and app.current_watch and not app.current_watch.armed.probes


@pytest.mark.parametrize("with_events", [False, True])
async def test_who_chooses_while_a_target_is_opened_goes_on_and_is_told_what_it_takes(
    kernel_only, recording, with_events, monkeypatch
):
    monkeypatch.setattr(target_control, "PATIENCE", 3600.0)  # else how far it is covers what is typed
    free = threading.Event()

    class Late(Opening):
        def run(self) -> None:
            free.wait(60)
            super().run()

    opening = Late(str(recording if with_events else kernel_only))
    opening.start()
    app = Probewright(opening)
    async with app.run_test(size=(80, 24)) as pilot:
        chooser = await open_presets(app, pilot)
        await pilot.press(*"mutex-hold")
        await until(lambda: chooser.current and chooser.current.name == "mutex-hold", pilot)
        await until(lambda: "✗ no target is open yet" in text(app), pilot)
        free.set()
        told = "✗ this recording does not hold " if with_events else "✓ accepted by Linux 7.2"
        await until(lambda: told in text(app), pilot)
        await until(lambda: not with_events or app.current_watch.ended, pilot)
        assert isinstance(app.screen, PresetScreen) and chooser.current.name == "mutex-hold"
        assert "no target is open yet" not in text(app)


@pytest.mark.parametrize("name", ["block-latency", "page-faults"])
async def test_what_a_recording_does_not_hold_is_refused_as_that(recording, name):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await at_recorded_preset(app, pilot, name)
        await until(lambda: "with these fields: it has bprm_execve" in text(app), pilot)
        assert "accepted" not in text(app) and "This kernel" not in text(app)
        await pilot.press("enter")
        await until(lambda: "not armed" in text(app), pilot)
        assert isinstance(app.screen, PresetScreen)


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("who-kills", "event == signal_generate"),
        ("exec-arguments", "event == call || event == sched_process_exec"),
    ],
)
async def test_of_a_recording_a_preset_shows_its_events_alone(name, condition):
    app = application(str(SHIPPED))
    async with app.run_test(size=(120, 40)) as pilot:
        await at_recorded_preset(app, pilot, name)
        await until(lambda: "✓ accepted" in text(app), pilot)
        await pilot.press("enter")
        if name == "who-kills":  # has parameters, which stay as they are
            await until(lambda: isinstance(app.screen, FormDialog), pilot)
            await pilot.press("enter")
        events = app.places.live.views.events
        await until(lambda: events.filter.text == condition, pilot)
        named = {one.removeprefix("event == ") for one in condition.split(" || ")}
        await until(
            lambda: named & {line.split()[3] for line in screen_text(app)[3:6] if len(line.split()) > 3}, pilot
        )
        await pilot.press("u")
        await until(lambda: not events.filter.text, pilot)


async def test_what_a_recording_holds_with_another_filter_asks_for_the_values_of_that(recording, folders):
    folders.mkdir(parents=True)
    (folders / "reads.toml").write_text(OWN)
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await at_recorded_preset(app, pilot, "reads")
        await until(lambda: "holds it with another filter: f vfs_read%return file->f_pos" in text(app), pilot)
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, FormDialog), pilot)


async def test_those_that_can_be_done_are_first_and_the_others_say_why_beside_long_questions():
    app = application(SHIPPED)
    async with app.run_test(size=(80, 50)) as pilot:
        chooser = await open_presets(app, pilot)
        await until(lambda: chooser.current and chooser.current.name == WORKING[0], pilot)
        names = [one.name for one in decisions.listed()]
        signs = [line for line in screen_text(app) if any(f" {name} " in line for name in names)]
        assert [name for line in signs[: len(WORKING)] for name in WORKING if f" {name} " in line] == list(WORKING)
        assert all("not in this recording" in line for line in signs[len(WORKING) : len(names)])
        await pilot.press(*"kill")  # two names have it
        await until(lambda: [one.name for one in chooser._shown[:2]] == ["who-kills", "oom-kills"], pilot)
        assert chooser.current.name == "who-kills"


async def test_values_are_asked_for_and_a_wrong_one_is_said(recording, folders):
    folders.mkdir(parents=True)
    (folders / "reads.toml").write_text(OWN.replace(" if count > ${least}", ""))
    app = application(recording)
    async with app.run_test(size=(80, 24)) as pilot:
        await at_recorded_preset(app, pilot, "reads")
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, FormDialog), pilot)
        await pilot.press("x", "enter")
        await until(lambda: "least: 100x is no int" in text(app), pilot)
        await pilot.press("backspace", "enter")
        # A recording arms what it holds: this probe is one of its own.
        await until(lambda: app.places.live.is_current and not isinstance(app.screen, FormDialog), pilot)
        assert "not armed" not in text(app)


async def armed(app, pilot, name: str) -> None:
    await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
    chooser = await open_presets(app, pilot)
    await pilot.press(*name)
    await until(lambda: chooser.current and chooser.current.name == name, pilot)
    await pilot.press("enter")
    await until(lambda: isinstance(app.screen, FormDialog), pilot)
    await pilot.press("enter")
    await until(lambda: app.places.live.is_current and not isinstance(app.screen, FormDialog), pilot)


async def test_its_columns_come_first_and_other_fields_of_its_probes_when_asked(recording, folders):
    folders.mkdir(parents=True)
    own = OWN.replace(" if count > ${least}", "").replace(
        'view = "events"', 'view = "events"\ncolumns = ["ret", "count"]'
    )
    (folders / "reads.toml").write_text(own)
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await armed(app, pilot, "reads")
        pane = app.places.live.query_one(EventsPane)

        def shown() -> list[str]:
            return [column.name for column in pane.columns.choice.shown if not column.of_all]

        await until(lambda: "f_pos" not in shown(), pilot)
        assert shown()[:2] == ["ret", "count"]
        await pilot.press("A")
        assert shown()[:2] == ["ret", "count"] and "f_pos" in shown()


async def test_the_summary_opens_on_its_first_column_although_others_were_there_before(recording, folders):
    folders.mkdir(parents=True)
    own = OWN.replace(" if count > ${least}", "").replace("vfs_read%return file->f_pos", "vfs_write%both pos[0]")
    (folders / "reads.toml").write_text(own.replace('"events"', '"summary"\ncolumns = ["ret", "count"]'))
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        await pilot.press("s")
        view = app.places.live.views.current
        await until(lambda: view.name == "summary" and "vfs_read" in view._subject.event, pilot)
        await pilot.press("v")  # what was picked before is of another question
        await pilot.press("e")
        await armed(app, pilot, "reads")
        await until(lambda: app.places.live.views.current is view, pilot)
        await until(lambda: "vfs_write__exit ret  " in text(app), pilot)
        await pilot.press("v")
        await until(lambda: " count  " in text(app) and "vfs_write__exit ret  " not in text(app), pilot)
        app.places.live.tick()
        assert "vfs_write" in view._subject.event and view._subject.field == "count", "picked, so that it stays"


async def test_calls_that_are_too_short_for_it_are_not_shown(recording, folders):
    folders.mkdir(parents=True)
    own = OWN.replace(" if count > ${least}", "").replace("vfs_read%return file->f_pos", "vfs_write%both pos[0]")
    own = own.replace('"events"', '"calls"')
    own = own.replace("least", "slow").replace('"int"', '"duration"').replace('"100"', '"50us"')
    (folders / "reads.toml").write_text(own.replace("tags", 'min_latency = "${slow}"\ntags'))
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await armed(app, pilot, "reads")
        await until(lambda: app.places.live.views.current.name == "calls", pilot)
        pane = app.places.live.query_one(CallsPane)
        await until(lambda: pane.shown and pane.shown.filter_text and not pane.shown.backlog, pilot)
        own_events = "event == vfs_write__entry || event == vfs_write__exit"
        assert pane.condition == f"({own_events}) && latency >= 50us"
        took = [pane.shown.item(row).latency for row in range(pane.shown.first, pane.shown.next)]
        assert took and all(one is not None and one >= 50_000 for one in took)
        assert pane.shown.counts[0] < pane.shown.counts[1]


async def test_what_is_on_the_screen_is_saved_and_found_again(kernel_only, folders):
    app = application(kernel_only)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_read")
        await pilot.press("3", "s")
        await until(lambda: isinstance(app.screen, FormDialog), pilot)
        await pilot.press("end", *"-mine", "down", *"Sizes of reads", "down", *"own, reads", "enter")
        await until((folders / "vfs-read-mine.toml").exists, pilot)
        chooser = await open_presets(app, pilot)
        await pilot.press(*"#own")
        await until(lambda: chooser.current and chooser.current.name == "vfs-read-mine", pilot)
        preset = Presets().find("vfs-read-mine").preset
        assert preset is not None
        assert (preset.title, preset.tags, preset.probes) == (
            "Sizes of reads",
            ("own", "reads"),
            (("f vfs_read count",),),
        )


async def test_enter_goes_through_the_lines_and_saves_in_the_last(kernel_only, folders, monkeypatch):
    armed: list[object] = []
    monkeypatch.setattr(ArmingControl, "arm_all", lambda _, probes: armed.append(probes))
    app = application(kernel_only)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_read")
        await pilot.press("3", "s")
        await until(lambda: isinstance(app.screen, FormDialog), pilot)
        await pilot.press(*"-mine", "enter", *"Sizes", "enter", *"own")
        assert not folders.exists() or not list(folders.iterdir())
        await pilot.press("enter")
        await until((folders / "vfs-read-mine.toml").exists, pilot)
        preset = read_preset((folders / "vfs-read-mine.toml").read_text())
        assert (preset.title, preset.tags) == ("Sizes", ("own",))
        assert not armed


async def test_one_that_comes_along_is_copied_before_it_is_edited_and_read_again(kernel_only, folders, monkeypatch):
    edited = []

    def editor(path: Path) -> None:
        edited.append(path)
        path.write_text(path.read_text().replace('title = "Mutex', 'title = "My mutex'))

    monkeypatch.setattr(decisions, "run_editor", editor)
    app = application(kernel_only)
    monkeypatch.setattr(type(app), "suspend", lambda self: __import__("contextlib").nullcontext())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_compose(app, pilot)
        await open_presets(app, pilot)
        await pilot.press(*"mutex", "f6")
        await until(lambda: "My mutex hold time" in text(app) and "[user]" in text(app), pilot)
        assert edited == [folders / "mutex-hold.toml"]
        assert read_preset(edited[0].read_text()).title == "My mutex hold time"


async def test_those_that_the_target_cannot_answer_say_so_in_the_list(recording):
    app = application(recording)
    async with app.run_test(size=(120, 50)) as pilot:
        chooser = await open_presets(app, pilot)
        rows = len(decisions.listed())
        await until(lambda: sum("✗" in line for line in screen_text(app)) >= rows - 1, pilot)
        lines = screen_text(app)
        (kills,) = (line for line in lines if "oom-kills" in line)
        assert "✗ oom-kills" in kills and "and whom?  not in this recording" in kills
        await pilot.press("down", "down")
        moved = chooser.current
        await pilot.press(*"drop")
        await until(lambda: chooser.current and chooser.current.name == "packet-drops", pilot)
        assert moved is not None and moved.name != "packet-drops"


async def test_the_best_match_is_under_the_cursor_as_one_types(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_compose(app, pilot)
        chooser = await open_presets(app, pilot)
        await pilot.press("down", *"t")
        await pilot.press(*"cp")
        await until(lambda: chooser.current and chooser.current.name == "tcp-retransmits", pilot)
        await pilot.press(*" drop")
        await until(lambda: chooser.current and chooser.current.name == "packet-drops", pilot)


async def test_a_probe_that_is_armed_has_the_columns_of_mixed_kinds(recording):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: "filename" in screen_text(app)[2] and "f_pos" not in screen_text(app)[2], pilot)
        await pilot.press("f2")
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_read")
        await pilot.press("x", "enter")
        await until(lambda: "f_pos" in screen_text(app)[2] and "filename" not in screen_text(app)[2], pilot)
