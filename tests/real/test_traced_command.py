"""A command in the application while calls are traced: only its calls are, then those of all tasks again."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel.lab.guest import Guest
from tests.real.command import screen_on
from tests.real.processes import until
from tests.real.test_command_terminal import begin
from tests.real.test_ssh_guest import left
from tests.real.tmux import Tmux
from tui.app.typed_ahead import PAUSE

FAIL = """
import os, sys, time
with open("/proc/self/comm", "w") as comm:
    comm.write(sys.argv[1])
def fail():
    try:
        os.open("/nonexistent/file", os.O_RDONLY)
    except FileNotFoundError:
        pass
"""
NEIGHBOUR = f"{FAIL}\nwhile True:\n    fail()\n    time.sleep(0.2)\n"
WORK = f"""{FAIL}
for _ in range(3):
    fail()
child = os.fork()
fail()
if not child:
    os._exit(0)
os.waitpid(child, 0)
print("tasks", os.getpid(), child, flush=True)
sys.stdin.readline()
os._exit(3)
"""
"""Five failures, by two tasks."""
LINE = "python3 -SE /tmp/work.py mine"
TRACES = "cat /sys/kernel/tracing/instances/probewright*/set_ftrace_pid"


@pytest.fixture
def neighbour(guest: Guest) -> Iterator[None]:
    """A process that fails in the same way all the time; and the program of the command."""
    for name, source in (("work", WORK), ("neighbour", NEIGHBOUR)):
        guest.run(f"cat >/tmp/{name}.py <<'END'\n{source}\nEND")
    guest.run("python3 -S /tmp/neighbour.py neighbour >/dev/null 2>&1 & echo $! >/tmp/neighbour.pid")
    yield
    guest.run("kill $(cat /tmp/neighbour.pid); rm /tmp/neighbour.pid")


def at_failures(terminal: Tmux) -> None:
    """From the start to the failures of openat, by its preset."""
    terminal.wait(lambda screen: "functions" in screen and "armed 0" in screen)
    terminal.press("F5")
    terminal.wait(lambda screen: "presets" in screen and "first-failure" in screen)
    terminal.press(*"first-failure")
    terminal.wait(lambda screen: "calls of __x64_sys_openat with their return values, by" in screen)
    terminal.press("Enter")
    terminal.wait(lambda screen: "System call or function that fails" in screen)
    terminal.press("Enter")
    terminal.wait(lambda screen: "[failures]" in screen and "tracing" in screen)


def processes(screen: str) -> dict[str, int]:
    """Number of failures by process, in the rows of the table."""
    found: dict[str, int] = {}
    for count, names in re.findall(r"^\W*(\d+) +E[A-Z]+ +\S+ +\S+ +(\S.*?)\W*$", screen, re.MULTILINE):
        for name, number in re.findall(r"([a-z]\w*)(?: (\d+))?", names):
            found[name] = found.get(name, 0) + int(number or count)
    return found


@pytest.mark.usefixtures("neighbour")
@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_the_failures_of_a_command_are_told_alone(guest: Guest, tmp_path: Path) -> None:
    with Tmux(screen_on(guest, tmp_path)) as terminal:
        at_failures(terminal)
        terminal.wait(lambda screen: "neighbour" in processes(screen))
        begin(terminal, LINE)
        terminal.wait(re.compile(r"^tasks \d+ \d+", re.MULTILINE).search)
        # Its interpreter looks for files, too; of others nothing that was told before is left.
        screen = terminal.wait(lambda screen: processes(screen).get("mine", 0) >= 5)
        assert "neighbour" not in processes(screen), screen
        terminal.press("Enter")
        terminal.wait(lambda screen: "ended with status 3" in screen)
        screen = terminal.wait(lambda screen: "stand still at its last event" in screen)
        assert set(processes(screen)) <= {"mine", "python3"} and processes(screen)["mine"] >= 5, screen
        # All tasks are traced again, and shown as soon as that is wanted.
        terminal.press("Escape")
        time.sleep(2 * PAUSE)
        assert "neighbour" not in processes(terminal.screen())
        terminal.press("Space")
        terminal.wait(lambda screen: "neighbour" in processes(screen))
        # With ^t all tasks are traced while a command runs.
        begin_with_all(terminal, "sleep 4321")
        assert until(lambda: "sleep" in left(guest)), left(guest)
        before = processes(terminal.screen())["neighbour"]
        terminal.wait(lambda screen: processes(screen)["neighbour"] > before)
        os.kill(terminal.pid, signal.SIGKILL)
        assert until(lambda: not re.search("pw_|probewright|sleep", left(guest))), left(guest)


def traced(screen: str) -> set[str]:
    """Return the names of tasks in the rows of a call graph: whose calls these are, not who had the CPU then."""
    return set(re.findall(r"^ *\d+\.\d+ (\S+)-\d+ ", screen, re.MULTILINE))


def begin_with_all(terminal: Tmux, line: str) -> None:
    """Ask for a command, and run it while all tasks are recorded."""
    time.sleep(2 * PAUSE)
    terminal.press("r")
    terminal.wait(lambda screen: "Run a command on" in screen)
    terminal.press(line, "C-t")
    terminal.wait(lambda screen: line in screen and "Recorded: all tasks" in screen)
    time.sleep(2 * PAUSE)
    terminal.press("Enter")


@pytest.mark.usefixtures("neighbour")
@pytest.mark.parametrize("guest", ["7.2"], indirect=True)
def test_the_call_graph_is_of_a_command_alone(guest: Guest, tmp_path: Path) -> None:
    with Tmux(screen_on(guest, tmp_path)) as terminal:
        terminal.wait(lambda screen: "functions" in screen and "armed 0" in screen)
        terminal.press(*"do_sys_openat2")
        terminal.wait(lambda screen: "1 of " in screen)
        terminal.press("Enter")
        terminal.wait(lambda screen: "int do_sys_openat2(" in screen)
        terminal.press("G")
        terminal.wait(lambda screen: "Trace what do_sys_openat2 calls" in screen)
        time.sleep(2 * PAUSE)
        terminal.press("Enter")
        terminal.wait(lambda screen: "[graph]" in screen and "neighbour" in traced(screen))
        assert guest.run(TRACES).decode().strip() == "no pid"
        begin(terminal, LINE)
        screen = terminal.wait(re.compile(r"^tasks \d+ \d+", re.MULTILINE).search)
        command = re.findall(r"^tasks (\d+)", screen, re.MULTILINE)[0]
        assert command in guest.run(TRACES).decode().split()
        terminal.wait(lambda screen: f"mine-{command}" in screen and "neighbour" not in traced(screen))
        terminal.press("Enter")
        terminal.wait(lambda screen: "ended with status 3" in screen)
        terminal.wait(lambda screen: "paused" in screen)
        assert until(lambda: guest.run(TRACES).decode().strip() == "no pid")
        assert "neighbour" not in traced(terminal.screen())
        time.sleep(2 * PAUSE)
        terminal.press("C-q")
        terminal.wait(lambda screen: "[ended " in screen or "?" in screen)
        if "[ended " not in terminal.screen():
            terminal.press("Enter")
        assert terminal.status() == 0
    assert until(lambda: not re.search("pw_|probewright", left(guest))), left(guest)
