"""A function that can't be probed, as a person meets it: why, who calls it, and on to a caller."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interface.test_app import SIZE, application, open_compose, pick
from tests.interface.test_typed_spec import editing, typed
from tests.interface.widget_host import until
from tests.small_kernel import SECOND_TWIN, SYMBOLS, TEXT, save
from widgets.fields.attach_pane import AttachPane
from widgets.functions.function_list import FunctionList
from widgets.lists.line_list import LineList
from widgets.spec.completion_list import CompletionList


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("facts"))


async def test_from_a_function_that_cannot_be_probed_to_its_caller(folder: Path) -> None:
    app = application(folder)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        editor = await pick(app, pilot, "vfs_write")
        pane = editor.query_one(AttachPane)
        await until(lambda: pane.display and "no tracer's call" in text_of(app), pilot)
        assert not editor.query_one("FieldPane").display
        assert app.focused is pane.query_one(LineList)
        functions = app.places.compose.query_one(FunctionList)
        assert "notrace" in lines_of(functions), "the row says it too, now that it is known"
        await until(lambda: "esc Functions  i Instead" in text_of(app), pilot)
        foot = text_of(app).splitlines()[-1]
        assert not any(f" {key} " in foot for key in "aexbt"), foot
        await pilot.press("x", "1")
        assert str(editor.probe) == "f vfs_write", "nothing can be recorded there"
        await pilot.press("c")
        await until(lambda: "ksys_write" in lines_of(pane), pilot)
        assert "at +0x20" in lines_of(pane)
        await until(lambda: "enter Go to" in text_of(app), pilot)
        await pilot.press("enter")
        await until(lambda: editor.probe is not None and editor.probe.place.symbol == "ksys_write", pilot)
        assert not pane.display
        await until(lambda: "x Exit" in text_of(app).splitlines()[-1], pilot)
        await pilot.press("i")
        assert pane.display, "it can be asked for where something can attach"
        await pilot.press("i")
        assert not pane.display


async def test_one_of_several_functions_of_a_name(folder: Path) -> None:
    app = application(folder)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        editor = await pick(app, pilot, "twin")
        await pilot.press("i")
        pane = editor.query_one(AttachPane)
        await until(lambda: "between vfs_write and do_readv" in lines_of(pane), pilot)
        assert "between do_readv and vfs_read" in lines_of(pane)
        await pilot.press("down", "enter")
        await until(lambda: editor.probe is not None and editor.probe.place.address == SECOND_TWIN, pilot)
        assert not pane.display
        assert app.focused is not None
        assert editor in app.focused.ancestors


async def test_a_copy_is_offered_at_once(folder: Path) -> None:
    app = application(folder)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        editor = await pick(app, pilot, "do_sys_open.isra.0")
        assert editor.probe is not None
        assert not editor.query_one(AttachPane).display


async def test_another_name_that_is_typed_is_looked_up_and_stays(tmp_path: Path) -> None:
    """It stands in the symbols alone, which are read when a name is found nowhere else."""
    folder = save(tmp_path)
    with (folder / "kallsyms").open("a") as symbols:
        symbols.write(f"{TEXT + SYMBOLS['vfs_read']:x} T vfs_reap\n")
    app = application(folder)
    async with app.run_test(size=SIZE) as pilot:
        spec, editor = await editing(app, pilot)
        found = spec.query_one(CompletionList)
        spec.editor.put("p vfs_reap", 10)  # quicker than symbols are read
        await until(lambda: spec.shown.verdict is not None and spec.shown.verdict.ok, pilot)
        assert editor.probe is not None and editor.probe.place.symbol == "vfs_reap"
        assert found.opened and found.chosen is None, "enter does not take another name"
        await typed(pilot, "x")
        await until(lambda: spec.shown.verdict is not None and not spec.shown.verdict.ok, pilot)


def lines_of(widget: object) -> str:
    """What a widget has on the screen, its children's included."""
    region = widget.region  # type: ignore[attr-defined]
    strips = widget.screen._compositor.render_strips()  # type: ignore[attr-defined]
    rows = strips[region.y : region.bottom]
    return "\n".join(strip.crop(region.x, region.right).text for strip in rows)


def text_of(app: object) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())  # type: ignore[attr-defined]
