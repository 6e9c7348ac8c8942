"""A command in the application, on a guest: only its calls are recorded, its terminal is drawn, it ends with us."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest

from kernel.lab.guest import Guest
from tests.real.command import screen_on
from tests.real.processes import until
from tests.real.test_command_run import neighbour
from tests.real.test_ssh_guest import is_clean, left
from tests.real.test_terminal import READY
from tests.real.tmux import Tmux
from tui.app.typed_ahead import PAUSE

__all__ = ["neighbour"]

READ = 777
WORK = f"""
import os, sys
fd = os.open("/etc/hostname", os.O_RDONLY)
for _ in range(3):
    os.pread(fd, {READ}, 0)
child = os.fork()
if not child:
    os.pread(fd, {READ}, 0)
    os._exit(0)
os.waitpid(child, 0)
print("\\x1b[32mtasks\\x1b[0m", os.getpid(), child, *os.get_terminal_size())
print("got", sys.stdin.readline().strip())
os._exit(3)
"""
"""Four reads of a length of their own, by two tasks."""
ROW = re.compile(rf"^ *\d+\.\d+ +\d+  \S*?[-… ](\d+) +vfs_read__entry +{READ}\b", re.MULTILINE)


SPEC = "f vfs_read%both count"


def at_events(terminal: Tmux, options: str = "") -> None:
    """From the start to the events of an armed probe."""
    terminal.wait(READY.search)
    terminal.press("F6", SPEC + options)
    terminal.wait(lambda screen: "✓ this kernel" in screen)
    terminal.press("Enter")
    terminal.wait(lambda screen: "[events]" in screen and "armed 1" in screen)


def begin(terminal: Tmux, line: str) -> None:
    """Ask for a command, and run it."""
    time.sleep(2 * PAUSE)  # a letter that is typed while the screen changes is no command
    terminal.press("r")
    terminal.wait(lambda screen: "Run a command on" in screen)
    terminal.press(line)
    terminal.wait(lambda screen: line in screen)
    time.sleep(2 * PAUSE)  # as Enter behind a change is nothing
    terminal.press("Enter")


def reads(screen: str) -> list[str]:
    """Tasks of the reads, in the order of the rows."""
    return ROW.findall(screen)


@pytest.mark.usefixtures("neighbour")
@pytest.mark.parametrize(
    ("guest", "by_programs"),
    [("7.2", False), ("7.2", True), ("6.1", True), ("arm64:6.12", False)],
    ids=["7.2-tracefs", "7.2-programs", "6.1-programs", "arm64:6.12-tracefs"],
    indirect=["guest"],
)
def test_only_the_command_is_recorded_while_it_runs(guest: Guest, tmp_path: Path, by_programs: bool) -> None:
    guest.run(f"cat >/tmp/work.py <<'END'\n{WORK}\nEND")
    with Tmux(screen_on(guest, tmp_path)) as terminal:
        terminal.wait(READY.search)
        if by_programs:
            terminal.press("C-t")
            terminal.wait(lambda screen: "BPF" in screen)
        at_events(terminal)
        # The neighbour reads as much, all the time.
        terminal.wait(lambda screen: len(reads(screen)) > 4)
        begin(terminal, "python3 -S /tmp/work.py")
        screen = terminal.wait(lambda screen: re.search(r"^tasks \d+ \d+", screen, re.MULTILINE))
        command, child, columns, rows = (
            int(one) for one in re.findall(r"^tasks (\d+) (\d+) (\d+) (\d+)", screen, re.MULTILINE)[0]
        )
        assert (columns, rows) == (120, 15)
        assert "python3 -S /tmp/work.py  running  ^] to the rows" in screen
        terminal.wait(lambda screen: [int(one) for one in reads(screen)][-4:] == [command] * 3 + [child])
        # Its terminal has the keyboard: no letter is a command, and what is typed is its input.
        terminal.press("D", "Enter")
        terminal.wait(lambda screen: "got D" in screen)
        screen = terminal.wait(lambda screen: "ended with status 3" in screen)
        assert "armed 1" in screen
        # Its last events stay, though all tasks are recorded again.
        screen = terminal.wait(re.compile(r"paused \+\d\d+ new").search)
        assert re.search(rf"▌.*[-…]{command} +output +got D", screen), screen
        # Below, those of all tasks come into sight where a message at the foot goes.
        assert [int(one) for one in reads(screen[: screen.index("▌")])][-4:] == [command] * 3 + [child], screen
        # What it wrote stands among its reads, in order of time.
        times = re.findall(r"^[ ▌]+(\d+\.\d+)  ", screen, re.MULTILINE)
        assert times == sorted(times, key=float), screen
        assert re.search(rf"[-…]{command} +output +tasks {command}", screen), screen
        terminal.press("Escape")
        time.sleep(2 * PAUSE)
        terminal.press("Space")
        terminal.wait(lambda screen: len(reads(screen)) > 4 and str(command) not in reads(screen))
        begin(terminal, "sh -c 'exit 4'")
        terminal.wait(lambda screen: "ended with status 4" in screen)
        terminal.press("C-q")
        assert terminal.status() == 0
    # The neighbour is python3, too.
    assert until(lambda: not re.search("pw_|probewright", left(guest))), left(guest)


@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_kill_9_leaves_neither_command_nor_probes(guest: Guest, tmp_path: Path) -> None:
    with Tmux(screen_on(guest, tmp_path), 80, 24) as terminal:
        at_events(terminal)
        begin(terminal, "sh -m -c 'trap : HUP; sleep 4321 & sleep 4321; wait'")
        assert until(lambda: left(guest).count("sleep") == 2), left(guest)
        os.kill(terminal.pid, signal.SIGKILL)
        assert is_clean(guest), left(guest)
    with Tmux(screen_on(guest, tmp_path), 80, 24) as terminal:
        at_events(terminal)
        begin(terminal, "sh -c 'trap : HUP TERM; while :; do sleep 4321; done'")
        assert until(lambda: "sleep" in left(guest)), left(guest)
        terminal.press("C-]")
        time.sleep(2 * PAUSE)
        terminal.press("X")
        terminal.wait(lambda screen: "SIGTERM was sent, SIGKILL follows" in screen)
        terminal.wait(lambda screen: "ended by SIGKILL" in screen)
        assert until(lambda: "sleep" not in left(guest)), left(guest)
        terminal.press("C-q")
        assert terminal.status() == 0
    assert is_clean(guest), left(guest)
