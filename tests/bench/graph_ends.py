"""Function graph: rows of the store to the ends of calls, a million of them, and the kernel's text of a screenful."""

from __future__ import annotations

import statistics
import time

from events.store import Store
from tests.events_data import captured, store_of
from tests.graph_reader import GraphReader
from tests.graph_style import GraphStyle
from tests.graph_text import GraphPrinter, Names

Row = tuple[str, str, str, bool]

KERNEL = "7.2"
REPEAT = 2200
ROUNDS = 5
LEAST = 3e6
"""Events a second of processor time."""
SCREEN = 100
MOST_SCREEN = 0.016
"""Seconds; one frame."""


def run() -> list[Row]:
    """Measure; gives (what, figure, bound, whether it holds)."""
    store = filled()
    rates = []
    for _ in range(ROUNDS):
        began, reader = time.process_time(), GraphReader(store)
        while len(reader.read()):
            pass
        rates.append(len(store) / (time.process_time() - began))
    rate = statistics.median(rates)
    screen = screenful(store)
    return [
        (f"{len(store):,} rows to ends", f"{rate / 1e6:.1f} M/s", f">= {LEAST / 1e6:.0f} M/s", rate >= LEAST),
        (
            f"{SCREEN} rows as text",
            f"{screen * 1e3:.1f} ms",
            f"<= {MOST_SCREEN * 1e3:.0f} ms",
            screen <= MOST_SCREEN,
        ),
    ]


def screenful(store: Store) -> float:
    """Seconds of processor time for the text of some rows."""
    ends = GraphReader(store).read(SCREEN)
    names = Names(captured(KERNEL, "fgraph").symbols, store.comm, store.record)
    taken = []
    for _ in range(ROUNDS):
        began = time.process_time()
        GraphPrinter(GraphStyle(), names).text(ends)
        taken.append(time.process_time() - began)
    return statistics.median(taken)


def filled() -> Store:
    """The captured pages of a function graph, again and again, each time ten seconds later."""
    taken = captured(KERNEL, "fgraph")
    size = taken.decoder.header.page_size
    raw = {}
    for cpu, data in taken.raw.items():
        pages = [data[at : at + size] for at in range(0, len(data), size)]
        stamps = [int.from_bytes(page[:8], "little") for page in pages]
        raw[cpu] = b"".join(
            (stamp + turn * 10**10).to_bytes(8, "little") + page[8:]
            for turn in range(REPEAT)
            for stamp, page in zip(stamps, pages, strict=True)
        )
    return store_of(taken.decoder, raw)
