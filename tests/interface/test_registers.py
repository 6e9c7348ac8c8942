"""The dialog with what can be read where, as a person opens it."""

from __future__ import annotations

from pathlib import Path

import pytest

from probes.readable.hit_cost import CostReport, MeansCost, Spread
from probes.readable.report import Means
from tests.interface.test_app import SIZE, application, open_compose, pick, write_kernel
from tests.interface.widget_host import screen_text, until
from tests.small_kernel import save
from tui.dialogs.register_reports import RegisterReports
from widgets.dialogs.pick_list import PickList
from widgets.dialogs.register_dialog import RegisterDialog


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("facts"))


def seen(app) -> str:
    return "\n".join(screen_text(app))


async def opened(app, pilot, name: str) -> RegisterDialog:
    await open_compose(app, pilot)
    await pick(app, pilot, name)
    await pilot.press("r")
    await until(lambda: isinstance(app.screen, RegisterDialog), pilot)
    return app.screen


async def test_each_way_to_attach_is_there_with_its_reason(folder: Path) -> None:
    app = application(folder)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(app, pilot, "ksys_write")
        await until(lambda: "ways to attach" in seen(app), pilot)
        text = "\n".join(screen.lines)
        assert "p ksys_write" in text and "f ksys_write%return" in text
        assert all(f"\n{means} " in text for means in Means)
        assert "this is no running kernel" in text, "programs are not tried on saved facts"
        await pilot.press("m")
        await until(lambda: "hits are timed on a running kernel" in seen(app), pilot)
        await pilot.press("f1")
        await until(lambda: "What can be read where" in seen(app), pilot)
        await pilot.press("escape", "escape")
        await until(lambda: app.places.compose.is_current, pilot)


async def test_a_function_that_nothing_attaches_to(folder: Path) -> None:
    app = application(folder)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(app, pilot, "vfs_write")
        await until(lambda: "0 ways to attach" in seen(app), pilot)
        assert "can't be attached" in "\n".join(screen.lines)


async def test_costs_stand_above_the_report(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def measured(reports: RegisterReports) -> CostReport:
        asked.append(reports.function)
        return CostReport(
            "__x64_sys_getsid", Spread(900, 800, 1000), 50, (MeansCost(Means.FENTRY, Spread(77, 70, 80)),)
        )

    monkeypatch.setattr(RegisterReports, "costs", measured)
    app = application(folder)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(app, pilot, "ksys_write")
        await until(lambda: "ways to attach" in seen(app), pilot)
        monkeypatch.setattr(RegisterReports, "can_measure", True)
        await pilot.press("m")
        await until(lambda: "77 ns (70 to 80)" in seen(app), pilot)
        assert asked == ["ksys_write"]
        assert screen.lines[0].startswith("a call of getsid(2)")


async def test_one_of_the_functions_on_the_screen(folder: Path) -> None:
    app = application(folder)
    async with app.run_test(size=SIZE) as pilot:
        await open_compose(app, pilot)
        app.places.compose.action_registers()
        await until(lambda: isinstance(app.screen, PickList), pilot)
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, RegisterDialog) and "ways to attach" in seen(app), pilot)


async def test_on_a_recording_nothing_is_read_from_memory(tmp_path: Path) -> None:
    app = application(write_kernel(tmp_path / "kernel.pwr"))
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(app, pilot, "vfs_read")
        await until(lambda: "ways to attach" in seen(app), pilot)
        assert "it was not tried" in "\n".join(screen.lines)
        assert "Measure" not in screen_text(app)[-1]
