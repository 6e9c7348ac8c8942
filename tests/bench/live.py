"""The whole application at 100,000 events a second: CPU time, and how long the screen stands still."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.bench._replay_app import WARM_UP
from tests.terminal import Terminal

Row = tuple[str, str, str, bool]

RATE = 100_000
SECONDS = 12
MOST_CPU = 0.15
"""Of a core."""
LONGEST = 0.050
"""Seconds."""


def measured() -> tuple[float, dict[str, Any]]:
    """(share of a core, what the application measured inside) over SECONDS, 120x40."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        program = [sys.executable, "-m", "tests.bench._replay_app", str(RATE), str(SECONDS), str(report)]
        terminal = Terminal(program)
        try:
            terminal.wait_for(b"shown")
            watch(terminal, WARM_UP)
            before, began = terminal.cpu_seconds(), time.perf_counter()
            watch(terminal, SECONDS - 1)
            share = (terminal.cpu_seconds() - before) / (time.perf_counter() - began)
            for _ in range(100):
                watch(terminal, 0.1)
                if report.exists() and (text := report.read_text()):
                    return share, json.loads(text)
        finally:
            terminal.close()
    raise TimeoutError("the application did not report")


def watch(terminal: Terminal, seconds: float) -> None:
    """Take what it paints."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        terminal.read(0.05)
        terminal.output = b""


def run() -> list[Row]:
    share, found = measured()
    tick, paint, loop = (found[name] for name in ("tick", "paint", "loop"))
    longest = max(tick["longest"], paint["longest"], loop["longest"])
    whole = found["kept"] + found["evicted"] == found["sent"] and not found["dropped"] and not found["undecodable"]
    rate = found["sent"] / (WARM_UP + SECONDS)
    return [
        (
            f"the application at {rate:,.0f} events/s, 120x40",
            f"{share * 100:.1f} % of a core",
            "<= 15 %",
            share <= MOST_CPU,
        ),
        ("longest that its screen stood still", spread(loop), "<= 50 ms", longest <= LONGEST),
        ("ticks", f"{tick['calls']:.0f}, {spread(tick)}", "<= 50 ms", tick["longest"] <= LONGEST),
        ("pictures", f"{paint['calls']:.0f}, {spread(paint)}", "<= 50 ms", paint["longest"] <= LONGEST),
        (
            "events kept + dropped as the oldest = sent",
            f"{found['kept']:,} + {found['evicted']:,}",
            f"{found['sent']:,}",
            whole and found["evicted"] > 0,
        ),
    ]


def spread(durations: dict[str, float]) -> str:
    return f"{durations['longest'] * 1e3:.1f} ms, p99 {durations['p99'] * 1e3:.1f} ms"
