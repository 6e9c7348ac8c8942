"""A specification got by completion alone, in a real terminal, on a real kernel: the file's name arrives."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from kernel.lab.guest import Guest
from tests.real.command import screen_on
from tests.real.processes import descendants, remains
from tests.real.test_terminal import READY
from tests.real.tmux import TOP, Tmux

PROBEWRIGHT = [sys.executable, "-m", "tui"]
SPEC = "f vfs_read file->f_path.dentry->d_name.name:string"
STEPS = (
    ("", "f +a function"),
    ("vfs_r", "vfs_read "),
    ("", "vfs_read  +when it is called"),
    ("", r"file-> +struct file \*"),
    ("f_pa", r"f_path\. "),
    ("de", r"dentry-> +struct dentry \*"),
    ("d_na", r"d_name\. "),
    ("na", r"name +const unsigned char \*"),
    ("", "name:string +text in the kernel's memory"),
)
"""What is typed, and the completion that is marked then; Tab takes it."""


def type_by_completion(terminal: Tmux) -> None:
    """Take what is marked, nine times."""
    terminal.press("F6")
    for letters, marked in STEPS:
        terminal.press(*letters)
        terminal.wait(lambda screen, marked=marked: re.search(f"│▌{marked}", screen))  # type: ignore[misc]
        terminal.press("Tab")
    terminal.wait(lambda screen: re.search(rf"│{re.escape(SPEC)} +✓ this kernel", screen))


@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=["120x40", "80x24"])
def test_by_completion_alone_on_the_recording(size: tuple[int, int]) -> None:
    with Tmux([*PROBEWRIGHT, str(TOP / "tui/default.pwr")], *size) as terminal:
        terminal.wait(lambda screen: re.search(r"vfs_read__exit", screen))
        terminal.press("F2")
        terminal.wait(lambda screen: "part of a name" in screen and "specification" in screen)
        type_by_completion(terminal)
        terminal.press("C-q")
        assert terminal.status() == 0


def test_a_name_arrives(guest_72: Guest, tmp_path: Path) -> None:
    with Tmux(screen_on(guest_72, tmp_path)) as terminal:
        terminal.wait(lambda screen: READY.search(screen) and "specification" in screen)
        below = descendants(terminal.pid)
        type_by_completion(terminal)
        guest_72.workload(True)
        terminal.press("Enter")
        # The workload's `head` reads /proc/kallsyms.
        screen = terminal.wait(
            lambda screen: len(re.findall(r"head-\d+ +vfs_read__entry +kallsyms *$", screen, re.MULTILINE)) > 3
        )
        assert "armed 1" in screen
        assert re.search(r"event +name", screen)
        terminal.press("C-q")
        assert terminal.status() == 0
        assert remains(terminal.pid, below) == []
