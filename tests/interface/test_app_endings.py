"""Targets that are left before they are open, and an end without a terminal."""

from __future__ import annotations

import asyncio
import os
import pty
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import kernel.connection.open_target
from kernel.connection.open_target import TargetChoice, choose, shipped_recording
from kernel.lab.errors import LabCancelled
from tests.interface.test_app import SIZE, application
from tests.interface.widget_host import screen_text, until
from tui.app.app import Probewright
from tui.opening import Opening
from widgets.dialogs.error_dialog import ErrorDialog
from widgets.dialogs.progress import ProgressDialog


@pytest.fixture
def slow(monkeypatch):
    """A target `slow` that opens in a second, and one `endless` that has to be cancelled; gives what has ended."""
    ended = []

    def open_slowly(spec, progress=None, cancel=None, default_recording=None, tell=None):
        if spec == "endless":
            assert cancel.wait(60.0)
            ended.append(spec)
            raise LabCancelled
        found = choose(str(shipped_recording()), progress, cancel, default_recording, tell)
        if spec == "slow":
            target = found.target
            facts = target.facts()

            def late():
                time.sleep(1.0)
                return facts

            monkeypatch.setattr(target, "facts", late, raising=False)
            monkeypatch.setattr(target, "close", lambda: ended.append(spec), raising=False)
            return TargetChoice(target)
        return found

    monkeypatch.setattr(kernel.connection.open_target, "choose", open_slowly)
    return ended


def test_the_end_does_not_wait_for_a_target_that_is_being_opened(slow):
    opening = Opening("endless")
    opening.start()
    app = Probewright(opening)

    async def leave(pilot):
        await pilot.pause(0.3)
        app.exit()

    app.run(headless=True, auto_pilot=leave)
    assert wait_for(lambda: slow == ["endless"])


@pytest.mark.parametrize("first", ["slow", "endless"])
async def test_a_target_that_is_left_while_it_is_opened_is_closed(slow, recording_path, first):
    app = application(first)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(0.2)
        app.open_target(str(recording_path))
        await until(lambda: app.current_watch is not None and not app.opening.is_alive(), pilot)
        await until(lambda: slow, pilot)
        await asyncio.sleep(0.2)
        await pilot.pause()
        assert app.planner.info.target.name == recording_path.name
        assert not app.screen.is_modal
    assert slow == [first]


async def test_a_target_that_is_chosen_shows_how_far_it_is_and_can_be_stopped(slow, recording_path):
    app = application(recording_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(lambda: app.current_watch is not None and app.current_watch.ended and app.places.live, pilot)
        app.notices.notify_not_armed("This recording does not hold that")
        await pilot.press("f4")
        await until(lambda: "▌✓ default.pwr" in "\n".join(screen_text(app)), pilot)
        await pilot.press(*"endless", "enter")
        await until(lambda: isinstance(app.screen, ProgressDialog), pilot)
        await until(lambda: "opening endless" in "\n".join(screen_text(app)), pilot)
        assert "does not hold that" not in "\n".join(screen_text(app)), "it was said of the other target"
        assert "esc Stop" in screen_text(app)[-1]
        await pilot.press("escape")
        await until(lambda: isinstance(app.screen, ErrorDialog), pilot)
        assert app.planner.info.target.name == recording_path.name and app.target.opened == str(recording_path)


async def test_the_box_of_a_target_that_is_not_wanted_any_more_does_not_come(slow, recording_path):
    app = application("endless")
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(0.1)
        left = app.opening
        left.is_alive = lambda: True  # it takes its time to end
        app.open_target(str(recording_path))
        await until(lambda: app.planner is not None, pilot)
        app.target.show_progress(left)
        await pilot.pause()
        assert not app.screen.is_modal


@pytest.fixture
def recording_path() -> Path:
    path = shipped_recording()
    assert path is not None
    return path


_PROGRAM = """
import sys
from tui.__main__ import main
from kernel.watch.watch import Watch
def told(word, real):
    def call(watch):
        result = real(watch)
        open(sys.argv[2], "a").write(word)
        return result
    return call
Watch.begin = told("armed ", Watch.begin)
Watch.close = told("taken away", Watch.close)
main([sys.argv[1]])
"""


def wait_for(condition: Callable[[], object], terminal: int | None = None, seconds: float = 60.0) -> bool:
    """Wait, and read what is drawn meanwhile."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        if terminal is None:
            time.sleep(0.05)
        elif select.select([terminal], [], [], 0.05)[0]:
            with suppress(OSError):
                os.read(terminal, 1 << 16)
    return True


@pytest.mark.parametrize("leads", [True, False], ids=["leader", "child"])
def test_a_terminal_that_goes_away_takes_the_probes_along(recording_path, tmp_path, leads):
    """The kernel tells the leader of its session alone, which may wait for us as `make` does."""
    said = tmp_path / "said"
    pid, terminal = pty.fork()
    if pid == 0:
        if not leads:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            if child := os.fork():
                os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.environ["TERM"] = "xterm-256color"
        os.execv(sys.executable, [sys.executable, "-c", _PROGRAM, str(recording_path), str(said)])
    armed = wait_for(said.exists, terminal)
    os.close(terminal)
    ended = wait_for(lambda: os.waitpid(pid, os.WNOHANG) != (0, 0))
    if not ended:
        os.killpg(pid, 9)
        os.waitpid(pid, 0)
    assert armed
    assert ended, "it did not end with its terminal"
    assert said.read_text() == "armed taken away"
