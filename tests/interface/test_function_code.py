"""A function's code, as a person walks through it: to an instruction, and to a probe on it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.interface.test_app import SIZE, application, open_compose, pick, write_kernel
from tests.interface.widget_host import screen_text, until
from tests.pure.btf.test_inlined import folder as lines_folder
from tests.pure.btf.test_variables import variables_folder
from tests.pure.kernel.test_function_body import folder as folder_with_tables
from tests.pure.kernel.test_return_instructions import CODE, planner_of
from tests.small_kernel import save, save_with_lines
from widgets.dialogs.code_dialog import CodeDialog
from widgets.dialogs.pick_list import PickList
from widgets.lists.line_list import LineList

__all__ = ["folder_with_tables", "lines_folder", "variables_folder"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("facts"))


def seen(app) -> str:
    return "\n".join(screen_text(app))


async def opened(app, pilot, name: str) -> CodeDialog:
    await open_compose(app, pilot)
    await pick(app, pilot, name)
    await pilot.press("d")
    await until(lambda: isinstance(app.screen, CodeDialog), pilot)
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
        await until(lambda: isinstance(app.screen, CodeDialog), pilot)
        await pilot.press("escape")
        await until(lambda: compose.is_current, pilot)
        assert "p ksys_write+0x3" in str(compose.specification.current), "Escape changes nothing"


async def test_source_lines_stand_above_their_instructions(
    lines_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vmlinux = lines_folder / "dwarf-5.elf"
    monkeypatch.setattr("kernel.attach.debug_info._PLACES", (str(vmlinux),))
    app = application(save_with_lines(tmp_path, vmlinux))
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(app, pilot, "second")
        rows = screen.query_one(LineList)
        await until(lambda: "a.c:4 (inlined: helper)" in seen(app), pilot)
        lines = [line for line in screen_text(app) if "a.c:" in line or "+0x" in line]
        assert ["a.c:7" in line for line in lines[:2]] == [True, False], "the line, then its first instruction"
        await pilot.press("n")
        await until(lambda: "tail call" in screen_text(app)[rows.region.y + rows.cursor], pilot)
        await pilot.press("home", "enter")
        compose = app.places.compose
        await until(lambda: compose.is_current, pilot)
        await until(lambda: "p second" in str(compose.specification.current), pilot)


async def test_a_line_of_source_becomes_a_probe_on_its_instruction(
    lines_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vmlinux = lines_folder / "dwarf-5.elf"
    monkeypatch.setattr("kernel.attach.debug_info._PLACES", (str(vmlinux),))
    app = application(save_with_lines(tmp_path, vmlinux))
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        compose = app.places.compose
        compose.action_edit()
        await pilot.press(*"p a.c:400")
        await until(lambda: "no code is of this line; the nearest that have some: 8" in seen(app), pilot)
        assert compose.specification.current is None
        await pilot.press("backspace", "backspace", *" %di")
        await until(lambda: "a.c:4 begins at _stext" in seen(app), pilot)
        assert "and at first, second+0x10: a probe each" in seen(app)
        await pilot.press("tab")
        await until(lambda: str(compose.specification.current) == "p _stext %di", pilot)


async def test_ticked_variables_are_values_of_the_probe(
    variables_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vmlinux = variables_folder / "gcc-5.elf"
    monkeypatch.setattr("kernel.attach.debug_info._PLACES", (str(vmlinux),))
    app = application(save_with_lines(tmp_path, vmlinux))
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(app, pilot, "many")
        await until(lambda: "21 instructions" in seen(app), pilot)
        await pilot.press("v")
        await until(lambda: "many: 8 of 9 variables in scope can be recorded" in seen(app), pilot)
        assert "a=%di:s32" in seen(app) and "not readable: below the stack pointer" in seen(app)
        await until(lambda: "space Tick" in screen_text(app)[-1], pilot)
        await pilot.press("end", "space", "home", "space", "down", "space", "space")
        await until(lambda: seen(app).count("[x]") == 1, pilot)
        await pilot.press("escape")
        await until(lambda: app.screen is screen, pilot)
        await pilot.press("down", "down", "v")
        await until(lambda: "many+0x2: 7 of 9 variables" in seen(app), pilot)
        assert "[x]" not in seen(app)
        await pilot.press("down", "space", *["down"] * 6, "space", "enter")
        compose = app.places.compose
        await until(lambda: compose.is_current, pilot)
        text = "p many+0x2 b=%si:s32 h=+0x10(%sp):u8"
        await until(lambda: text in str(compose.specification.current), pilot)
        await until(lambda: "✓" in seen(app), pilot)
    monkeypatch.setattr("kernel.attach.debug_info._PLACES", ())
    app = application(tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await opened(app, pilot, "many")
        await until(lambda: "21 instructions" in seen(app), pilot)
        await pilot.press("v")
        await until(lambda: "debug information of the very same build" in seen(app), pilot)
        assert "space Tick" not in screen_text(app)[-1]


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
        assert not isinstance(app.screen, CodeDialog), "in the search it is text"
        await pilot.press("backspace")
        await pick(app, pilot, "ksys_write")
        await pilot.press("d")
        await until(lambda: isinstance(app.screen, CodeDialog), pilot)
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
            lambda: isinstance(app.screen, CodeDialog) and "no function of this kernel has code" in seen(app), pilot
        )


@pytest.mark.parametrize(
    ("key", "text"), [("r", "p ksys_write%retinsn $retval"), ("t", "p ksys_write%tailcall")], ids=["returns", "tails"]
)
async def test_a_key_arms_all_returns_or_tail_calls(
    folder_with_tables: Path, monkeypatch: pytest.MonkeyPatch, key: str, text: str
) -> None:
    planner_of(folder_with_tables, CODE)
    app, armed = application(folder_with_tables), list[str]()
    async with app.run_test(size=SIZE) as pilot:
        await opened(app, pilot, "ksys_write")
        await until(lambda: "2 of 3 ways out return (+0xc, +0x1b); +0x16 jumps to twin" in seen(app), pilot)
        monkeypatch.setattr(app.arming, "arm_all", lambda probes: armed.extend(map(str, probes)))
        await pilot.press(key)
        compose = app.places.compose
        await until(lambda: armed == [text], pilot)
        await until(lambda: compose.is_current and str(compose.specification.current) == text, pilot)
        await until(lambda: "2 of 3 ways out are seen" in seen(app) or key == "t", pilot)


async def test_a_key_says_that_there_is_no_tail_call(folder: Path) -> None:
    app = application(folder)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(app, pilot, "ksys_write")
        await until(lambda: "33 instructions" in seen(app), pilot)
        await pilot.press("t")
        await until(lambda: "no kprobe at ksys_write%tailcall" in seen(app), pilot)
        assert app.screen is screen and "no way out" in seen(app)


async def test_returns_are_typed_with_completion(folder_with_tables: Path) -> None:
    planner_of(folder_with_tables, CODE)
    app = application(folder_with_tables)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        compose = app.places.compose
        compose.action_edit()
        await pilot.press(*"p ksys_write%re")
        await until(lambda: "%retinsn" in seen(app) and "at each return instruction" in seen(app), pilot)
        await pilot.press(*"tinsn ")
        await until(lambda: "$retval" in seen(app), pilot)
        await until(lambda: "2 of 3 ways out are seen: it returns at +0xc, +0x1b" in seen(app), pilot)
