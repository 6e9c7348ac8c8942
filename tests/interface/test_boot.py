"""A rehearsal of the boot from the dialog of exports: asked, stopped, failed, and its recording opened."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

import kernel.boot.rehearsal
import tui.boot.boot_requests
from events.loss_counts import LossCounts
from kernel.boot.read_back import BootReading, MissingEvent
from kernel.connection.open_target import shipped_recording
from kernel.errors import TargetUnusable
from kernel.lab.errors import LabCancelled
from tests.interface.test_app import application, open_compose, pick, write_kernel
from tests.interface.widget_host import screen_text, until
from widgets.dialogs.form import FormDialog
from widgets.dialogs.probe_export_dialog import ProbeExportDialog
from widgets.dialogs.progress import ProgressDialog


@pytest.fixture(scope="module")
def kernel_only(tmp_path_factory):
    return write_kernel(tmp_path_factory.mktemp("facts") / "kernel.pwr")


async def exporting(app, pilot) -> None:
    """With a probe on vfs_read and the dialog of exports."""
    await open_compose(app, pilot)
    await pick(app, pilot, "vfs_read")
    await pilot.pause(0.3)
    await pilot.press("3", "o")
    await until(lambda: isinstance(app.screen, ProbeExportDialog) and app.screen.current, pilot)


async def test_another_target_than_a_lab_is_told(kernel_only):
    app = application(kernel_only)
    async with app.run_test(size=(100, 30)) as pilot:
        await exporting(app, pilot)
        await pilot.press("b")
        await until(lambda: any("a guest of the lab is booted" in line for line in screen_text(app)), pilot)
        assert isinstance(app.screen, ProbeExportDialog)


@pytest.fixture
def rehearsals(monkeypatch):
    """Stand-ins for requests and boots; the test decides how a boot ends."""
    ends: dict[str, Any] = {}
    monkeypatch.setattr(
        tui.boot.boot_requests, "boot_request", lambda planner, probes: [str(probe) for probe in probes]
    )

    def rehearse(spec, request, path, *, seconds, progress, cancel):
        ends["asked"] = (spec, request, path, seconds)
        progress("booting Linux 7.2", None)
        return ends["how"](path, cancel)

    monkeypatch.setattr(kernel.boot.rehearsal, "rehearse", rehearse)
    return ends


async def asked(app, pilot, path: Path) -> None:
    """Ask for a boot into a file, by keys."""
    await exporting(app, pilot)
    app.target.opened = "lab:7.2"
    await pilot.press("b")
    await until(lambda: isinstance(app.screen, FormDialog), pilot)
    app.screen._inputs["file"].value = str(path)
    await pilot.press("enter")


async def test_the_recording_of_a_boot_is_opened(kernel_only, rehearsals, tmp_path):
    path = tmp_path / "boot.pwr"

    def record(where, cancel):
        shutil.copy(shipped_recording(), where)
        missing = MissingEvent("kprobes/late", "not defined", ("trace_boot: Failed to add probe",))
        return BootReading(where, 17, 0.5, (missing,), LossCounts({}, {}, {}, 0, 0, 0))

    rehearsals["how"] = record
    app = application(kernel_only)
    async with app.run_test(size=(120, 40)) as pilot:
        await asked(app, pilot, path)
        await until(lambda: app.target.opened == str(path), pilot)
        spec, probes, where, seconds = rehearsals["asked"]
        assert (spec, where, seconds) == ("lab:7.2", path, 0.0)
        assert probes == ["f vfs_read count"]
        await until(lambda: any("not armed at boot: kprobes/late" in line for line in screen_text(app)), pilot)


async def test_a_boot_is_stopped_by_escape(kernel_only, rehearsals, tmp_path):
    began = threading.Event()

    def wait(where, cancel):
        began.set()
        cancel.wait(30)
        raise LabCancelled

    rehearsals["how"] = wait
    app = application(kernel_only)
    async with app.run_test(size=(120, 40)) as pilot:
        await asked(app, pilot, tmp_path / "boot.pwr")
        await until(lambda: isinstance(app.screen, ProgressDialog) and began.is_set(), pilot)
        await until(lambda: any("booting Linux 7.2" in line for line in screen_text(app)), pilot)
        await pilot.press("escape")
        await until(lambda: any("the boot was stopped" in line for line in screen_text(app)), pilot)
        assert isinstance(app.screen, ProbeExportDialog)
        assert not (tmp_path / "boot.pwr").exists()


async def test_a_boot_that_fails_says_why(kernel_only, rehearsals, tmp_path):
    def fail(where, cancel):
        raise TargetUnusable("the kernel made no trace instance", "its command line needs bootconfig")

    rehearsals["how"] = fail
    app = application(kernel_only)
    async with app.run_test(size=(120, 40)) as pilot:
        await asked(app, pilot, tmp_path / "boot.pwr")
        await until(lambda: any("made no trace instance" in line for line in screen_text(app)), pilot)
        assert any("its command line needs bootconfig" in line for line in screen_text(app))


async def test_a_file_that_is_there_is_not_taken(kernel_only, rehearsals, tmp_path):
    app = application(kernel_only)
    async with app.run_test(size=(120, 40)) as pilot:
        await asked(app, pilot, kernel_only)
        await until(lambda: any(f"{kernel_only.name} is there" in line for line in screen_text(app)), pilot)
        assert isinstance(app.screen, FormDialog) and "asked" not in rehearsals
