"""Views that no recording holds: tables of a running kernel, a command under the probes, several hosts; in guests."""

from __future__ import annotations

import re
import tarfile
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Final

from kernel.hosts.fleet import Fleet
from kernel.hosts.host import HostState
from screenshots.stage import Stage
from tests.trimmed_recordings import DATA
from tui.app.app import Probewright
from tui.hosts.control import opening_of_fleet
from tui.opening import Opening

GUEST = "lab:7.2"
HOSTS = (GUEST, "lab:6.12")
_BOOT: Final = 120.0
"""Seconds for a boot on a busy machine."""
_Play = Callable[[Stage], Coroutine[None, None, None]]


async def lab_pictures(size: tuple[int, int], folder: Path) -> list[Path]:
    """All pictures of one size that need guests."""
    folder.mkdir(exist_ok=True)
    return [*await _of_guest(size, folder), *await _of_hosts(size, folder)]


async def _of_guest(size: tuple[int, int], folder: Path) -> list[Path]:
    opening = Opening(GUEST)
    opening.start()
    app = Probewright(opening)
    try:
        with tempfile.TemporaryDirectory() as objects:
            with tarfile.open(DATA / "objects.tar.xz") as packed:
                packed.extract("unlink.bpf.o", objects, filter="data")
            return await _played(app, size, folder, lambda stage: play_guest(stage, Path(objects, "unlink.bpf.o")))
    finally:
        if app.current_watch is not None:
            app.current_watch.close()
        if app.planner is not None:
            app.planner.info.close()


async def _of_hosts(size: tuple[int, int], folder: Path) -> list[Path]:
    fleet = Fleet(HOSTS)
    opening = opening_of_fleet(fleet)
    opening.start()
    app = Probewright(opening, None, fleet)
    try:
        return await _played(app, size, folder, play_hosts)
    finally:
        fleet.close()


async def _played(app: Probewright, size: tuple[int, int], folder: Path, play: _Play) -> list[Path]:
    app.theme = "textual-dark"
    async with app.run_test(size=size, notifications=False) as pilot:
        stage = Stage(pilot, app, folder, patience=_BOOT)
        await play(stage)
        return stage.saved


async def _arm(stage: Stage, spec: str) -> None:
    """Type a specification, and arm it."""
    app = stage.app
    await stage.press("f6")
    await stage.sees("specification")
    await stage.press("ctrl+u")
    await stage.paste(spec)
    await stage.sees("✓")
    await stage.press("enter")
    await stage.until(lambda: app.places.live is not None and app.screen is app.places.live, f"{spec} is not armed")


async def _run(stage: Stage, line: str, *keys: str) -> None:
    """Type a command, and press keys that run it to its end."""
    await stage.press("r")
    await stage.sees("Run a command on")
    await stage.paste(line)
    await stage.press(*keys)
    await stage.sees("ended with status 0")


async def play_guest(stage: Stage, objects: Path) -> None:
    """A table of a hist trigger, a command that was run under the probes, a map of a compiled object."""
    app = stage.app
    await stage.until(lambda: app.planner is not None, "no guest")
    await _arm(stage, "f vfs_read%both count $retval")
    await _run(stage, "ls -l /etc", "enter")
    await stage.sees("paused")
    if app.size.width >= 120:
        await stage.sees("time of day")  # in the pane of details
    stage.save("command")
    await stage.press("X")
    await stage.press("T")
    await stage.sees("triggers")
    await stage.paste("hist:keys=common_pid.execname:vals=count:sort=hitcount.descending")
    await stage.press("enter", "escape")
    await stage.press("b")
    await stage.sees("hist:keys")
    stage.save("histograms")
    await _arm(stage, str(objects))
    line = "touch /tmp/a /tmp/b /tmp/c; rm /tmp/a; rm /tmp/b /tmp/c"
    await _run(stage, line, "ctrl+t", "enter")  # a compiled object can't be limited to a command
    await stage.press("X")
    await stage.press("M")
    await stage.sees("█")
    stage.save("maps")


async def play_hosts(stage: Stage) -> None:
    """Two guests with one probe, and their events in one list."""
    hosts = stage.app.hosts
    assert hosts is not None
    await stage.until(lambda: all(host.state is HostState.OPEN for host in hosts.fleet.all_hosts), "no guests")
    await stage.press("f6")
    await stage.paste("f do_sys_openat2%return filename=filename:ustring $retval")
    await stage.sees("✓")
    await stage.press("f9")
    await stage.press("a")
    await stage.sees("2 of 2 armed")
    await stage.until(lambda: len(re.findall(r"^.*\d\.\d{6} +lab:", stage.text, re.MULTILINE)) > 12, "too few rows")
    stage.save("hosts")
