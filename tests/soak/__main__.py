"""`make soak`: the memory of a service, minute by minute, while events come at a rate. ARGS: seconds, events/s.

    python -m tests.soak [SECONDS [RATE]]

Each command runs in a process of its own on a kernel that is a dict (`tests.soak.busy_target`), two at a time. Exit
status 1 where one took more than docs/headless.md says, or grew when all was full.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.soak.busy_target import FUNCTION, SPEC

MOST_GROWTH_MB = 4
"""From when all that is bounded is full to the end: an allocator gives and takes."""


class Bounds(NamedTuple):
    """What a command may take, as docs/headless.md has it."""

    most: float = 120.0
    """MB that are resident, at any time."""
    full: float = 60.0
    """Seconds until all that is bounded is full."""


USUAL = Bounds()
GRAPH = Bounds(full=120.0)
"""Of a command that holds calls with all that is inside of them."""
AT_ONCE = 2
COMMANDS = {
    "run": ("run", SPEC),
    "run --json": ("run", SPEC, "--json"),
    "run --summary": ("run", SPEC, "--summary", "filename"),
    "run --export jsonl:FOLDER/": ("run", SPEC, "--export", "jsonl:FOLDER/files/", "--keep", "2"),
    "run --export perfetto:FILE": ("run", SPEC, "--export", "perfetto:FOLDER/x.perfetto"),
    "run --export folded:FILE": ("run", SPEC, "--export", "folded:FOLDER/x.folded"),
    "run -t A -t B": ("run", SPEC, "-t", "ssh://one", "-t", "ssh://two"),
    "graph": ("graph", FUNCTION),
    "graph --json": ("graph", FUNCTION, "--json"),
    "record": ("record", SPEC, "-o", "FOLDER/x.pwr"),
}


class Running(NamedTuple):
    """A command, and what it took so far."""

    name: str
    process: subprocess.Popen[bytes]
    began: float
    samples: list[tuple[float, float]]
    """Seconds since the start, and MB."""

    def look(self) -> None:
        """Note what it takes now, if it runs."""
        try:
            pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        except (OSError, IndexError):
            return
        if pages:
            self.samples.append((time.monotonic() - self.began, pages * os.sysconf("SC_PAGE_SIZE") / 1e6))


def main(seconds: float, rate: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        waiting = list(COMMANDS.items())
        running: list[Running] = []
        failed = 0
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                running.append(_start(*waiting.pop(0), folder, seconds, rate))
            time.sleep(1.0)
            for one in [*running]:
                one.look()
                if one.process.poll() is not None:
                    running.remove(one)
                    failed += not _is_flat(one)
        return 1 if failed else 0


def _start(name: str, words: tuple[str, ...], folder: str, seconds: float, rate: int) -> Running:
    own = tempfile.mkdtemp(dir=folder)
    command = [word.replace("FOLDER", own) for word in (*words, "--for", str(seconds))]
    program = [sys.executable, "-m", "tests.soak.command", str(rate), *command]
    process = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return Running(name, process, time.monotonic(), [])


def _is_flat(one: Running) -> bool:
    """Print what a command took; whether that is within the bounds."""
    told = one.process.stderr.read().decode("utf-8", "replace") if one.process.stderr is not None else ""
    minutes: dict[int, float] = {}
    for at, size in one.samples:
        minutes[int(at // 60)] = max(minutes.get(int(at // 60), 0.0), size)
    bounds = GRAPH if one.name.startswith("graph") else USUAL
    later = [size for at, size in one.samples if at > bounds.full]
    most = max((size for _, size in one.samples), default=0.0)
    first = max((size for at, size in one.samples if at <= bounds.full), default=0.0)
    growth = max(later, default=first) - first
    holds = one.process.returncode == 0 and most <= bounds.most and growth <= MOST_GROWTH_MB
    each = " ".join(f"{size:.0f}" for size in minutes.values())
    verdict = "holds" if holds else f"FAILED (status {one.process.returncode})"
    print(
        f"{one.name:<28} at most {most:4.0f} MB, {growth:+5.1f} MB after {bounds.full:.0f} s: {verdict}", flush=True
    )
    print(f"    MB by minute: {each}", flush=True)
    print("".join(f"    {line}\n" for line in told.splitlines()[-4:]), end="", flush=True)
    return holds


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(float(given[0]) if given else 600.0, int(given[1]) if len(given) > 1 else 20_000))
