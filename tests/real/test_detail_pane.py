"""On a real kernel, in a real terminal: events of several kinds, details of a row, both ends of its call."""

from __future__ import annotations

import re
import time
from pathlib import Path

from kernel.lab.guest import Guest
from tests.real.command import screen_on
from tests.real.processes import descendants, remains
from tests.real.test_terminal import READY
from tests.real.tmux import Tmux

SPECS = (
    "f vfs_read%both file->f_pos count $retval",
    "f vfs_open path->dentry->d_name.name:string file->f_flags",
    "t sched_switch prev->pid prev_state next->pid",
)


def arm(terminal: Tmux, number: int, spec: str) -> None:
    terminal.press("F2")
    terminal.wait(READY.search)
    terminal.press("F6", "C-u", *(key.replace(" ", "Space") for key in spec))
    terminal.wait(lambda screen: f"│{spec}" in screen and "✓ this kernel" in screen)
    terminal.press("Enter")
    terminal.wait(lambda screen: f"armed {number} " in screen and "[events]" in screen)


def ask_filter(terminal: Tmux) -> None:
    """Open the line of the filter; letters just after another screen came are for nobody."""
    for _ in range(30):
        terminal.press("f")
        time.sleep(1)
        if "enter Only these" in terminal.screen():
            return
    raise TimeoutError(terminal.screen())


def under_cursor(screen: str) -> str:
    return next((line for line in screen.splitlines() if line.startswith("▌")), "")


def test_the_details_of_a_read_lead_to_both_ends_among_events_of_other_kinds(guest_72: Guest, tmp_path: Path) -> None:
    with Tmux(screen_on(guest_72, tmp_path)) as terminal:
        terminal.wait(READY.search)
        below = descendants(terminal.pid)
        guest_72.workload(True)
        for number, spec in enumerate(SPECS, 1):
            arm(terminal, number, spec)
        terminal.wait(
            lambda screen: re.search(r"vfs_read__exit +.*count=\d", screen) and re.search(r"sched_switch +\S", screen)
        )
        ask_filter(terminal)
        terminal.press(*"event", "Space", *"==", "Space", *"vfs_read__entry", "Enter")
        terminal.wait(lambda screen: "vfs_read__entry" in screen and "  sched_switch " not in screen)
        terminal.press("Up", "Up")
        terminal.wait(lambda screen: re.search(r"^ latency +\d", screen, re.MULTILINE) and " exit: ret " in screen)
        screen = terminal.screen()
        entry = under_cursor(screen).lstrip("▌").split()[0]
        terminal.press("P")
        terminal.wait(lambda screen: " exit: ret " not in screen)
        terminal.press("P", ")")
        terminal.wait(lambda screen: "its exit is hidden by the filter" in screen)
        ask_filter(terminal)
        terminal.press("C-u", "Enter")
        terminal.wait(lambda screen: "  sched_switch " in screen)
        terminal.press("t")
        terminal.wait(lambda screen: "seconds, as 12.304" in screen)
        terminal.press(*entry, "Enter")
        terminal.wait(lambda screen: entry in under_cursor(screen) and " exit: ret " in screen)
        terminal.press(")")
        screen = terminal.wait(lambda screen: "vfs_read__exit" in under_cursor(screen) and " entry: count " in screen)
        terminal.wait(lambda screen: re.search(r"__probe_ret_ip +\w+\+0x", screen))
        assert re.search(rf"^ entry +{re.escape(entry)}  vfs_read__entry", screen, re.MULTILINE), screen
        terminal.press("(")
        terminal.wait(lambda screen: entry in under_cursor(screen) and "vfs_read__entry" in under_cursor(screen))
        terminal.press("C-q")
        assert terminal.status() == 0
        assert remains(terminal.pid, below) == []
