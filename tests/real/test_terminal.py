"""The way from a function's name to its live events, through a real terminal."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from kernel.lab.guest import Guest
from tests.real.command import screen_on
from tests.real.conftest import prepared
from tests.real.processes import descendants, remains
from tests.real.tmux import TOP, Tmux

PROBEWRIGHT = [sys.executable, "-m", "tui"]
NAME = tuple("vfs_read")
SHOWN = {
    "Enter": r"when +\[entry\]",
    "x": r"when +entry +\[exit\]",
    "3": r"\[x\] count",
    "/": "part of a field's name",
    "f": "/ f ",
    "_": "/ f_ ",
    "p": r"▌ +\[ \] file->f_pos",
}
"""Keys that pick the function, at its exit, tick the third argument and find the field, with what each shows."""
KEYS = (*SHOWN, "Enter", "Enter")
"""And those that tick the field, and arm; exits bring `$retval`."""
ROW = re.compile(r"^ *(\d+\.\d{6}) +(\d+)  (\S+)-(\d+) +vfs_read__exit +(-?\d+) +(\d+) +(-?\w+)", re.MULTILINE)


READY = re.compile(r"part of a name +\d\d,\d{3}")
"""The functions of a target are there."""


def arm_typed(terminal: Tmux, spec: str) -> None:
    """Arm one specification on a target that is being opened, by keys alone; the events are on the screen then."""
    terminal.wait(READY.search)
    terminal.press("F6")
    terminal.press(spec)
    terminal.wait(lambda screen: "✓ this kernel" in screen)
    terminal.press("Enter")
    terminal.wait(lambda screen: "[events]" in screen and "armed 1" in screen)


def pick(terminal: Tmux) -> None:
    """From the list of functions to an armed probe."""
    terminal.press(*NAME)
    terminal.wait(lambda screen: re.search(r"> vfs_read +\d+ of", screen))
    for key, shown in SHOWN.items():
        terminal.press(key)
        terminal.wait(re.compile(shown).search)
    terminal.press("Enter")
    terminal.wait(re.compile(r"\[x\] +(?:file)?->f_pos").search)
    terminal.press("Enter")


def has_whole(screen: str) -> bool:
    """Whether the lab's workload is there: `head` reads the first 4096 bytes of a file by 1024."""
    by_task: dict[str, list[tuple[str, ...]]] = {}
    for row in ROW.findall(screen):
        by_task.setdefault(row[3], []).append(row[4:])
    whole = [("0", "1024", "1024"), ("1024", "1024", "1024"), ("2048", "1024", "1024"), ("3072", "1024", "1024")]
    return whole in by_task.values()


def check_rows(screen: str) -> None:
    rows = ROW.findall(screen)
    assert len(rows) >= 8
    stamps = [float(row[0]) for row in rows]
    assert stamps == sorted(stamps)
    assert {row[1] for row in rows} <= {"0", "1"}


def test_to_live_events_in_ten_keystrokes() -> None:
    assert len(KEYS) <= 10
    prepared("7.2")
    with Tmux([*PROBEWRIGHT, "--target", "lab"]) as terminal:
        terminal.wait(lambda screen: re.search(r"lab · Linux 7\.\S+ .*\d\d,\d{3} functions", screen))
        below = descendants(terminal.pid)
        assert any(name.startswith("qemu") for name in below.values()), below
        pick(terminal)
        screen = terminal.wait(lambda screen: len(ROW.findall(screen)) > 16 and has_whole(screen))
        assert re.search(r"time +cpu +task +event +f_pos +count +ret", screen), screen
        assert "armed 1" in screen
        check_rows(screen)
        below |= descendants(terminal.pid)
        terminal.press("C-q")
        assert terminal.status() == 0
        assert remains(terminal.pid, below) == []
        assert "Traceback" not in terminal.screen()


def test_ending_while_the_guest_boots() -> None:
    prepared("7.2")
    with Tmux([*PROBEWRIGHT, "--target", "lab"]) as terminal:
        below: dict[int, str] = {}

        def booting(screen: str) -> bool:
            below.update(descendants(terminal.pid))
            return "booting Linux" in screen and any(name.startswith("qemu") for name in below.values())

        terminal.wait(booting)
        terminal.press("C-q")
        assert terminal.status() == 0
        assert remains(terminal.pid, below) == []


def test_a_recording() -> None:
    with Tmux([*PROBEWRIGHT, str(TOP / "tui/default.pwr")]) as terminal:
        terminal.wait(lambda screen: "■ recorded" in screen and re.search(r" vfs_read__exit .*count=1024", screen))
        terminal.press("F2")
        terminal.wait(lambda screen: "part of a name" in screen)
        pick(terminal)
        screen = terminal.wait(lambda screen: "■ recorded" in screen and ROW.search(screen))
        assert "f_pos" in screen
        below = descendants(terminal.pid)
        terminal.press("C-q")
        assert terminal.status() == 0
        assert remains(terminal.pid, below) == []


POSITIONS = ("F5", "p", "o", "s", "Enter", "Enter")
"""Presets, the one about positions, every thread."""
MOVED = re.compile(r" pos (\d+) → (\d+)")


def test_what_a_read_changed_in_six_keystrokes(guest_72: Guest, tmp_path: Path) -> None:
    guest_72.workload(True)
    with Tmux(screen_on(guest_72, tmp_path)) as terminal:
        terminal.wait(READY.search)
        terminal.press(POSITIONS[0])
        terminal.wait(lambda screen: "words, #tag" in screen)
        terminal.press(*POSITIONS[1:4])
        terminal.wait(lambda screen: re.search(r"/  pos[^█]*▌ *file-position[^█]*accepted by", screen))
        terminal.press(POSITIONS[4])
        terminal.wait(lambda screen: "Only of this thread" in screen)
        terminal.press(POSITIONS[5])
        screen = terminal.wait(lambda screen: ("0", "1024") in MOVED.findall(screen))
        assert "[entry→exit]" in screen
        assert re.search(r" 1024  pos 0 → 1024  file \S+  f_pos 0  count 1024", screen), screen
        terminal.press("C-q")
        assert terminal.status() == 0
