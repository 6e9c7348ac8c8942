"""A function's code, as a person walks through it: to an instruction, and to a probe on it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.interface.test_app import SIZE, application, open_compose, pick, write_kernel
from tests.interface.widget_host import screen_text, until
from tests.small_kernel import save
from tui.compose.code_screen import CodeScreen
from widgets.dialogs.pick_list import PickList
from widgets.lists.line_list import LineList


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("facts"))


def seen(app) -> str:
    return "\n".join(screen_text(app))


async def opened(app, pilot, name: str) -> CodeScreen:
    await open_compose(app, pilot)
    await pick(app, pilot, name)
    await pilot.press("d")
    await until(lambda: isinstance(app.screen, CodeScreen), pilot)
    return app.screen


async def test_an_instruction_becomes_a_probe(folder: Path) -> None:
    app = application(folder)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(app, pilot, "ksys_write")
        await until(lambda: "33 instructions" in seen(app), pilot)
        rows = screen.query_one(LineList)
        await pilot.press("end")
        await until(lambda: "callq vfs_write" in seen(app), pilot)
        await pilot.press("home")
        assert app.focused is rows
        await until(lambda: "enter Probe here" in screen_text(app)[-1], pilot)
        await pilot.press(*["down"] * 3)
        assert rows.cursor == 3
        await pilot.press("enter")
        compose = app.places.compose
        await until(lambda: compose.is_current, pilot)
        await until(lambda: "p ksys_write+0x3" in str(compose.specification.current), pilot)
        assert "p ksys_write+0x3" in seen(app)
        await pilot.press("d")
        await until(lambda: isinstance(app.screen, CodeScreen), pilot)
        await pilot.press("escape")
        await until(lambda: compose.is_current, pilot)
        assert "p ksys_write+0x3" in str(compose.specification.current), "Escape changes nothing"


async def test_a_place_that_takes_none_says_why(folder: Path) -> None:
    app = application(folder)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(app, pilot, "vfs_write")
        await until(lambda: "0 take a kprobe" in seen(app), pilot)
        await pilot.press("enter")
        await until(lambda: "no kprobe at vfs_write" in seen(app), pilot)
        assert app.screen is screen
        assert "no tracer's call at its entry" in seen(app)


async def test_help_and_letters(folder: Path) -> None:
    app = application(folder)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        await pilot.press("d")
        await until(lambda: "> d" in seen(app), pilot)
        assert not isinstance(app.screen, CodeScreen), "in the search it is text"
        await pilot.press("backspace")
        await pick(app, pilot, "ksys_write")
        await pilot.press("d")
        await until(lambda: isinstance(app.screen, CodeScreen), pilot)
        await pilot.press("f1")
        await until(lambda: "The code of a function" in seen(app), pilot)


async def test_a_recording_and_a_missing_decoder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = application(write_kernel(tmp_path / "kernel.pwr"))
    async with app.run_test(size=SIZE) as pilot:
        await opened(app, pilot, "vfs_read")
        await until(lambda: "the code of functions is not kept in recordings" in seen(app), pilot)
        assert "Probe here" not in seen(app) and "Way out" not in seen(app)
        await pilot.press("enter", "n", "escape")
        await until(lambda: app.places.compose.is_current, pilot)
    monkeypatch.setitem(sys.modules, "capstone", None)
    app = application(folder)
    async with app.run_test(size=SIZE) as pilot:
        await opened(app, pilot, "ksys_write")
        await until(lambda: "pip install 'capstone>=5.0.6'" in seen(app), pilot)


async def test_one_of_the_functions_on_the_screen(folder: Path) -> None:
    app = application(folder)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        app.places.compose.action_code()
        await until(lambda: isinstance(app.screen, PickList), pilot)
        await pilot.press("enter")
        await until(
            lambda: isinstance(app.screen, CodeScreen) and "no function of this kernel has code" in seen(app), pilot
        )
