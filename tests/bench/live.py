"""The whole application at 100,000 and 1,000,000 events a second: CPU time, and how long the screen stands still."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench._replay_app import WARM_UP
from tests.terminal import Terminal

Row = tuple[str, str, str, bool]


class Load(NamedTuple):
    """What is sent, and what it may cost."""

    rate: int
    """Events a second."""
    seconds: int
    most_cpu: float
    """Of a core."""
    longest: float
    """Seconds that the screen may stand still."""
    p99: float
    """Seconds that 99 of 100 ticks may take."""
    view: str = ""
    """Which is shown; empty: the events one by one."""


LOADS = (Load(100_000, 12, 0.15, 0.050, 0.030), Load(1_000_000, 30, 0.60, 0.100, 0.030))
MOST_RESIDENT = 256 << 20
"""Bytes of the whole process, the store's limit and all that was imported included."""


def measured(load: Load) -> tuple[float, dict[str, Any]]:
    """(share of a core, what the application measured inside) at 120x40."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        words = [str(load.rate), str(load.seconds), str(report), *([load.view] if load.view else [])]
        command = [sys.executable, "-m", "tests.bench._replay_app", *words]
        terminal = Terminal(command)
        try:
            terminal.wait_for(b"shown")
            watch(terminal, WARM_UP)
            before, began = terminal.cpu_seconds(), time.perf_counter()
            watch(terminal, load.seconds - 1)
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
    """Measure; gives (what, figure, bound, whether it holds)."""
    return [row for load in LOADS for row in rows_of(load)]


def rows_of(load: Load) -> list[Row]:
    share, found = measured(load)
    tick, paint, loop = (found[name] for name in ("tick", "paint", "loop"))
    bound, most = f"<= {load.longest * 1e3:.0f} ms", load.most_cpu * 100
    parts = [found[name] for name in ("kept", "evicted", "dropped", "undecodable", "overrun")]
    rate = found["sent"] / (WARM_UP + load.seconds)
    return [
        (
            f"the application at {rate:,.0f} events/s, 120x40",
            f"{share * 100:.1f} % of a core",
            f"<= {most:.0f} %",
            share <= load.most_cpu,
        ),
        ("longest that its screen stood still", spread(loop), bound, loop["longest"] <= load.longest),
        (
            "ticks",
            f"{tick['calls']:.0f}, {spread(tick)}",
            f"{bound}, p99 <= {load.p99 * 1e3:.0f} ms",
            tick["longest"] <= load.longest and tick["p99"] <= load.p99,
        ),
        ("pictures", f"{paint['calls']:.0f}, {spread(paint)}", bound, paint["longest"] <= load.longest),
        (
            "kept + dropped as the oldest + not kept up with = sent",
            f"{parts[0]:,} + {parts[1]:,} + {sum(parts[2:]):,}",
            f"{found['sent']:,}",
            sum(parts) == found["sent"] and found["evicted"] > 0,
        ),
        (
            "what it kept, and the process",
            f"{found['bytes'] >> 20} MiB, {found['resident'] >> 20} MiB",
            f"<= {found['limit'] >> 20} MiB, {MOST_RESIDENT >> 20} MiB",
            found["bytes"] <= found["limit"] and found["resident"] <= MOST_RESIDENT,
        ),
    ]


def spread(durations: dict[str, float]) -> str:
    return f"{durations['longest'] * 1e3:.1f} ms, p99 {durations['p99'] * 1e3:.1f} ms"
