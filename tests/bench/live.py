"""The whole application at 100,000 and 1,000,000 events a second: CPU time, and how long the screen stands still."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench._measure import ROUNDS, Figure, Part, Row, Spread
from tests.terminal import Terminal

SECONDS = 2.5
"""Of each round, after the warm-up; what is the longest of it has the median of five longest ones."""
MOST_SECONDS = 90
"""Of a round on a machine that is very busy."""
MOST_RESIDENT = 256
"""MiB of the whole process, the store's limit and all that was imported included."""

Found = dict[str, Any]
"""Report of the application, as `_replay_app` writes it."""


class NotMeasured(Exception):
    """The application came to nothing that could be measured; the text says why."""


class Load(NamedTuple):
    """Events that are sent, and the cost that they may have."""

    rate: int
    """Events a second."""
    store: int
    """MiB; less than what is sent, so that the oldest events are dropped while it is measured."""
    most_cpu: float
    """Per cent of a core."""
    longest: float
    """Milliseconds that the screen may stand still."""
    p99: float
    """Milliseconds that 99 of 100 ticks may take."""
    view: str = ""
    """Name of the view; empty: the events one by one."""


def measured(load: Load) -> Found:
    """A round in a terminal of 120x40."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        words = [
            str(load.rate),
            str(SECONDS),
            str(load.store << 20),
            str(report),
            *([load.view] if load.view else []),
        ]
        terminal = Terminal([sys.executable, "-m", "tests.bench._replay_app", *words])
        try:
            end = time.perf_counter() + MOST_SECONDS
            while time.perf_counter() < end:
                terminal.read(0.05)
                if report.exists() and (text := report.read_text()):
                    found: Found = json.loads(text)
                    if "error" in found:
                        raise NotMeasured(found["error"])
                    return found
                terminal.output = b""
        finally:
            terminal.close()
    raise NotMeasured(f"no report within {MOST_SECONDS} s")


def figures_of(load: Load) -> list[tuple[Figure, Callable[[Found], float]]]:
    """Figures of a load, and their values in a round."""
    shows = f" while it shows the {load.view}" if load.view else ""
    return [
        (
            Figure(f"the application at {load.rate:,} events/s{shows}", "% of a core", most=load.most_cpu),
            lambda found: found["cpu"] * 100,
        ),
        (
            Figure("  longest that its screen stood still", "ms", most=load.longest),
            lambda found: found["loop"]["longest"] * 1e3,
        ),
        (Figure("  longest tick", "ms", most=load.longest), lambda found: found["tick"]["longest"] * 1e3),
        (Figure("  tick, 99 of 100", "ms", most=load.p99), lambda found: found["tick"]["p99"] * 1e3),
        (Figure("  longest picture", "ms", most=load.longest), lambda found: found["paint"]["longest"] * 1e3),
        (Figure("  events that are not accounted for", "events", most=0, digits=0), unaccounted),
        (Figure("  bytes that the store kept", "MiB", most=load.store), lambda found: found["bytes"] / (1 << 20)),
        (
            Figure("  the process in memory", "MiB", most=MOST_RESIDENT, digits=0),
            lambda found: found["resident"] / (1 << 20),
        ),
    ]


def unaccounted(found: Found) -> float:
    """Events that were sent, and neither are kept nor were dropped as the oldest, overrun or not kept up with."""
    assert found["evicted"] > 0, "the store was never full"
    known = sum(found[name] for name in ("kept", "evicted", "dropped", "undecodable", "overrun"))
    return abs(found["sent"] - known)


def rows_of(load: Load) -> list[Row]:
    """Five rounds, each with an application of its own."""
    try:
        rounds = [measured(load) for _ in range(ROUNDS)]
    except NotMeasured as error:
        return [figure.missing(str(error)) for figure, _ in figures_of(load)]
    sent = Spread(tuple(found["rate"] for found in rounds)).median
    ticks, dropped = (
        sum(number) for number in zip(*((f["tick"]["calls"], f["dropped"]) for f in rounds), strict=True)
    )
    note = f"{sent:,.0f} events/s were sent, {ticks:,.0f} ticks in all, {dropped:,} events not kept up with"
    rows = [figure.of(Spread(tuple(map(value, rounds)))) for figure, value in figures_of(load)]
    return [rows[0]._replace(note=note), *rows[1:]]


def part_of(name: str, load: Load) -> Part:
    return Part(name, [figure for figure, _ in figures_of(load)], lambda: rows_of(load))


PARTS = (part_of("100k", Load(100_000, 4, 15, 50, 30)), part_of("1M", Load(1_000_000, 32, 60, 100, 30)))
