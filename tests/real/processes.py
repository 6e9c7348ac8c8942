"""What runs on this machine because of one process, for tests that look whether all of it is gone."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from kernel.lab import cache

PATIENCE = 300.0
"""Seconds that a test waits for what is to be so: a hang is what they bound, however busy the machine is."""


def children(pid: int) -> list[int]:
    """Of all threads of a process; empty where it is gone."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                found += [int(word) for word in Path(f"/proc/{pid}/task/{task}/children").read_text().split()]
    return found


def descendants(pid: int) -> dict[int, str]:
    """Every process below one, by its name."""
    found: dict[int, str] = {}
    for child in children(pid):
        try:
            found[child] = Path(f"/proc/{child}/comm").read_text().strip()
        except OSError:
            continue
        found |= descendants(child)
    return found


def ended(pid: int) -> bool:
    """Whether a process is gone; one that nobody has waited for yet is."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def sshs(owner: int, *, master: bool = False) -> list[int]:
    """The ssh processes that a process has started; `master`: the one that holds the connection."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            ours = any(word.startswith(b"ControlPath=") and b"/pw-%d-" % owner in word for word in words)
            if words[0] == b"ssh" and ours and (b"ControlMaster=yes" in words or not master):
                found.append(int(entry.name))
    return found


def zombies() -> list[str]:
    """Names of our children that have ended and that nobody waited for, with what they ended with."""
    found = []
    for pid in filter(ended, children(os.getpid())):
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{pid}/stat").read_text().split()[-1]
            found.append(f"{Path(f'/proc/{pid}/comm').read_text().strip()} {pid}, status {status}")
    return found


def until(seen: Callable[[], object], seconds: float = PATIENCE) -> bool:
    """Whether it becomes true in time.

    Between two looks it rests thrice as long as a look takes: one at an emulated guest delays what is waited for.
    """
    end = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        if seen():
            return True
        now = time.monotonic()
        if now > end:
            return False
        time.sleep(min(max(0.05, 3 * (now - began)), 2.0))


def remains(pid: int, below: dict[int, str]) -> list[str]:
    """What a process that has ended left here: processes that were below it, guests' folders, sockets of ssh."""
    until(lambda: all(map(ended, below)))
    found = [f"process {child} {name}" for child, name in below.items() if not ended(child)]
    found += [str(path) for path in (cache.root() / "run").glob(f"{pid}_*")]
    for base in {tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR", tempfile.gettempdir())}:
        found += [str(path) for path in Path(base).glob(f"pw-{pid}-*")]
    return found
