"""The dialog of exports, as a person uses it on the recording that comes with the application."""

from __future__ import annotations

import pytest
from textual.widgets import Input, OptionList

from tests.interface.test_app import application, open_compose, pick, write_kernel
from tests.interface.widget_host import screen_text, until
from tui.cli.args.parser import DIALECTS
from widgets.dialogs.probe_export_dialog import DialectText, ProbeExportDialog


@pytest.fixture(scope="module")
def kernel_only(tmp_path_factory):
    return write_kernel(tmp_path_factory.mktemp("facts") / "kernel.pwr")


async def opened(app, pilot) -> ProbeExportDialog:
    """With a probe on vfs_read that records its third argument."""
    await open_compose(app, pilot)
    await pick(app, pilot, "vfs_read")
    await pilot.pause(0.3)
    await pilot.press("3", "o")
    await until(lambda: isinstance(app.screen, ProbeExportDialog) and app.screen.current, pilot)
    return app.screen


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_every_tool_is_shown(kernel_only, size):
    app = application(kernel_only)
    async with app.run_test(size=size) as pilot:
        dialog = await opened(app, pilot)
        seen = {}
        for number in range(dialog.query_one(OptionList).option_count):
            await pilot.pause()
            seen[dialog.current.title] = "\n".join(screen_text(app))
            assert number == 0 or dialog.query_one(OptionList).highlighted == number
            await pilot.press("down")
        assert len(seen) == len(DIALECTS)
        assert "#!/bin/sh" in seen["POSIX shell script"]
        assert "kprobe_event=p:probewright/vfs_read__entry" in seen["kernel command line"]
        assert "bpftrace THIS" in seen["bpftrace script"]
        assert "boot-time tracing, made by probewright" in seen["boot-time tracing"]
        await pilot.press("escape")
        await until(lambda: app.places.compose.is_current, pilot)


async def test_a_text_is_copied_whole(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=(80, 24)) as pilot:
        dialog = await opened(app, pilot)
        await pilot.press("c")
        await until(lambda: app.clipboard == dialog.current.text, pilot)
        assert app.clipboard.startswith("#!/bin/sh\n") and "take_away" in app.clipboard


async def test_a_text_is_saved_and_nothing_is_overwritten(kernel_only, tmp_path):
    app = application(kernel_only)
    async with app.run_test(size=(80, 24)) as pilot:
        dialog = await opened(app, pilot)
        path = tmp_path / "mine.sh"
        for again in (False, True):
            await pilot.press("s")
            line = dialog.query_one(Input)
            await until(lambda: dialog.query_one(Input).has_focus, pilot)
            assert line.value == "vfs_read-sh.sh"
            line.value = str(path)
            await pilot.press("enter")
            if not again:
                await until(path.exists, pilot)
                written = path.read_text()
                path.write_text("other")
        assert written == dialog.current.text
        await until(lambda: any("choose another name" in line for line in screen_text(app)), pilot)
        assert path.read_text() == "other"
        assert path.stat().st_mode & 0o100


async def test_escape_leaves_the_name_first(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=(80, 24)) as pilot:
        dialog = await opened(app, pilot)
        await pilot.press("s")
        await until(lambda: dialog.query_one(Input).has_focus, pilot)
        await pilot.press("escape")
        assert app.screen is dialog and dialog.query_one(OptionList).has_focus
        await pilot.press("escape")
        await until(lambda: app.screen is not dialog, pilot)


async def test_what_a_tool_cannot_say_has_its_reason(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=(80, 24)) as pilot:
        dialog = await opened(app, pilot)
        evil = "[/b]\x1b[31m[@click=app.quit]x[/]"
        dialog._show([DialectText(evil, "x", "", (f"no {evil}",))])
        await until(lambda: any("this tool can't say it" in line for line in screen_text(app)), pilot)
        assert any(r"no [/b]\x1b[31m" in line for line in screen_text(app))
        await pilot.press("c", "s")
        assert app.clipboard == "" and not dialog.has_class("-saving")


async def test_without_a_probe_it_says_so(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_compose(app, pilot)
        app.places.compose.action_export()
        await until(lambda: any("there is no probe yet" in line for line in screen_text(app)), pilot)
        assert app.screen is app.places.compose
