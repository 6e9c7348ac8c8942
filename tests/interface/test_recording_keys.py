"""On a recording no footer offers a key that can never work there; help, and the key, say why."""

from __future__ import annotations

import re

import pytest

from kernel.connection.open_target import shipped_recording
from tests.interface.test_app import application, kernel_only, open_compose, pick
from tests.interface.widget_host import screen_text, until
from tui.app.palette import rows_of
from tui.commands import COMMANDS, KERNEL_ACTIONS, ON_RECORDING, ON_SAVED_FACTS
from tui.dialogs.preset_screen import PresetScreen
from tui.dialogs.target_screen import TargetScreen
from tui.help import help_of
from tui.live.details.lines_screen import ContentsScreen
from tui.live.losses import LossScreen
from widgets.dialogs.help import HelpScreen
from widgets.footer import KeyFooter

__all__ = ["kernel_only"]


def offered(app) -> list[str]:
    return [key.label for key in app.screen.query_one(KeyFooter).keys]


def without_effect(app) -> str:
    return "".join(one.intro for one in help_of(app.screen) if one.title == "Without effect here")


async def test_no_key_that_only_refuses_is_offered():
    app = application(shipped_recording())
    async with app.run_test(size=(200, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        await until(lambda: "Filter" in offered(app), pilot)
        assert {"Export", "Contents", "Summary"} <= set(offered(app))
        assert not {"Record", "Disarm"} & set(offered(app))
        names = {row.name for row in rows_of(app, app.screen)}
        assert "Summary" in names and not {"Disarm", "Disarm all", "Histograms", "Maps", "Run", "Trigger"} & names
        assert (
            without_effect(app) == "b, D, d, K, M, r, T, W, w, X: no kernel runs here; F4 chooses a kernel that runs."
        )
        await pilot.press("w")
        await until(lambda: "already a recording" in "\n".join(screen_text(app)), pilot)
        await pilot.press("s")
        await until(lambda: "Next field" in offered(app), pilot)
        assert "In the kernel" not in offered(app) and "k, " in without_effect(app)
        await pilot.press("L")
        await until(lambda: isinstance(app.screen, LossScreen) and "Back" in offered(app), pilot)
        assert offered(app) == ["Back", "Help"]
        assert without_effect(app).startswith("B, b, c, f, m, r: ")
        await pilot.press("escape", "f2")
        await until(lambda: app.places.compose.is_current, pilot)
        await pick(app, pilot, "vfs_read")
        await until(lambda: "Export" in offered(app) and "Tick" in offered(app), pilot)
        assert "Graph" not in offered(app) and "G: " in without_effect(app)
        assert "d: a recording has no code of its kernel" in without_effect(app)


MEANINGLESS = re.compile(r"\b(?:dis)?arm(?:s|ed|ing)?\b|\bfollow(?:s|ing)?\b|\bnew events\b", re.IGNORECASE)
"""Words about a kernel that runs."""


async def test_the_live_place_of_a_recording_has_no_words_about_a_kernel_that_runs():
    app = application(shipped_recording())
    async with app.run_test(size=(200, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        await until(lambda: "Time line" in offered(app), pilot)
        for view in ("e", "x", "s", "y", "l", "F", "g"):
            await pilot.press(view)
            await pilot.pause()
            told = [*offered(app), *screen_text(app)]
            told += [f"{row.name} {row.help}" for row in rows_of(app, app.screen)]
            assert not [text for text in told if MEANINGLESS.search(text)]
        await pilot.press("e")
        armed = app.current_watch.armed.probes
        for key in ("d", "D"):
            await pilot.press(key)
            await until(lambda: "the probes of a recording have ended; F4" in "\n".join(screen_text(app)), pilot)
            assert not [text for text in screen_text(app) if MEANINGLESS.search(text)]
            await pilot.press("space")
        assert app.current_watch.armed.probes == armed != ()


NEEDS_KERNEL = re.compile(rf"{MEANINGLESS.pattern}|\bfrom now on\b|\bremed(?:y|ies)\b|\bwritten\b", re.IGNORECASE)


def said_of_a_kernel(app) -> list[str]:
    """The lines of help that are true of a kernel that runs alone."""
    sections = help_of(app.screen)
    lines = [key.text for one in sections for key in one.keys] + [one.intro for one in sections]
    return [
        line for line in lines if NEEDS_KERNEL.search(line.replace("text as written", "").replace("text follow", ""))
    ]


async def test_help_of_a_recording_speaks_of_no_kernel_that_runs():
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        for view in "exsygFlbMERUJI":
            await pilot.press(view)
            await pilot.pause()
            assert said_of_a_kernel(app) == [], view
        texts = {key.text for one in help_of(app.screen) for key in one.keys}
        assert {ON_RECORDING[action][1] for action in ("take_back", "live", "quit")} <= texts
        for keys, kind in ((["L"], LossScreen), (["f5"], PresetScreen), (["f4"], TargetScreen)):
            await pilot.press(*keys)
            await until(lambda: isinstance(app.screen, kind), pilot)  # noqa: B023
            assert said_of_a_kernel(app) == [], kind
            await pilot.press("escape")
            await until(lambda: app.places.live.is_current, pilot)
        await pilot.press("f2")
        await until(lambda: app.places.compose.is_current, pilot)
        await pick(app, pilot, "vfs_read")
        for keys in ([], ["i"], ["colon"]):
            await pilot.press(*keys)
            await pilot.pause()
            assert said_of_a_kernel(app) == [], keys
        await pilot.press("f1")
        await until(
            lambda: isinstance(app.screen, HelpScreen) and "Build a probe" in "\n".join(screen_text(app)), pilot
        )
        assert "arms the probe" not in "\n".join(screen_text(app))


async def test_help_of_saved_facts_promises_no_events(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=(120, 40)) as pilot:
        await open_compose(app, pilot)
        await pick(app, pilot, "vfs_read")
        texts = {key.text for one in help_of(app.screen) for key in one.keys}
        assert {ON_SAVED_FACTS[action][1] for action in ("live", "presets", "arm")} <= texts
        assert not [text for text in texts if "events of the recording" in text]
        assert said_of_a_kernel(app) == []


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_what_is_recorded_is_listed(size):
    app = application(shipped_recording())
    async with app.run_test(size=size) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        await pilot.press("B")
        await until(lambda: isinstance(app.screen, ContentsScreen), pilot)
        await until(lambda: "f vfs_read%return file->f_pos count $retval" in "\n".join(screen_text(app)), pilot)
        shown = "\n".join(screen_text(app))
        assert "Linux 7.2.13" in shown and "x86_64, 2 CPUs" in shown and "vfs_read__exit" in shown
        assert "made        not recorded" in shown, "this one is of a version that kept no time of day"
        await pilot.press("escape")
        await until(lambda: app.places.live.is_current, pilot)


def test_every_such_action_is_one():
    """A name that no key has would be a mistake."""
    assert {command.action for command in COMMANDS} >= KERNEL_ACTIONS - {
        "in_kernel",
        "measure",
        "remedy",
        "since",
        "source",
        "watch_memory",
    }


async def test_a_recording_has_no_words_about_what_is_armed_where_probes_are_built():
    app = application(shipped_recording())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        await pilot.press("f2")
        await until(lambda: app.places.compose.is_current, pilot)
        await pick(app, pilot, "vfs_read")
        assert "Arm" not in offered(app) and "Show" in offered(app)
        for key, words in (("v", "the probes on functions"), ("k", "recorded with the probes")):
            for _ in range(3):
                await pilot.press(key)
                await until(lambda: words in "\n".join(screen_text(app)), pilot)  # noqa: B023
                assert not [line for line in screen_text(app) if MEANINGLESS.search(line)]
                await pilot.pause()
