"""The call graph of a million calls: until it is on the screen, a page of it, folding, search, hot spots."""

from __future__ import annotations

import asyncio
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.graph.growing import GrowingTree
from events.graph.hot import hot_spots, spent
from events.recording import Recording
from events.store import Store
from kernel.connection import Connection
from kernel.open import open_target
from kernel.watch import Watch
from tests.bench._replay_app import CPUS, event, page, records_of
from tests.graph_recordings import graph_recording
from tests.interface.widget_host import Host
from tui.graph import ShownGraph
from tui.graph_names import GraphNames
from widgets.graph_pane import GraphPane
from widgets.graph_rows import GraphRows

Row = tuple[str, str, str, bool]

CALLS = 1_000_000
DELTA = 1000
"""Nanoseconds between two events of a CPU."""
PASS_PAGES = 256
OPEN = 1.0
"""Seconds until a million calls are on the screen."""
FRAME = 0.016
"""Seconds of a page."""
LIVE = 0.35
"""Share of a core that 100,000 calls a second may take."""
PAGES = 60


def run() -> list[Row]:
    """Measure; gives (what, figure, bound, whether it holds). Seconds are of CPU: the machine may do other things."""
    with tempfile.TemporaryDirectory() as folder:
        path = graph_recording(Path(folder, "graph.pwr"))
        watch = Watch(Connection(open_target(str(path))))
        watch.connection.load_symbols()
        watch.begin()
        watch.store = filled(Recording.open(path))
        return asyncio.run(measured(watch, watch.store))


def filled(recording: Recording) -> Store:
    """A store of the whole trees that the recording has, again and again: one task on each CPU."""
    header = recording.header
    store = Store(Decoder(recording.formats, header), 1 << 40)
    cpus = [itertools.cycle(whole_trees(recording, cpu)) for cpu in range(CPUS)]
    ts = [DELTA * cpu // CPUS for cpu in range(CPUS)]
    begun = [(b"", 0)] * CPUS
    while store.next_seq < 2.02 * CALLS:
        chunks = []
        for cpu, records in enumerate(cpus):
            pages: list[bytes] = []
            data, count = begun[cpu]
            while len(pages) < PASS_PAGES:
                written = event(next(records), DELTA, header.byteorder)
                if header.data_offset + len(data) + len(written) > header.page_size:
                    pages.append(page(ts[cpu], data, header))
                    ts[cpu] += DELTA * count
                    data, count = b"", 0
                data, count = data + written, count + 1
            begun[cpu] = data, count
            chunks.append(Chunk(cpu, b"".join(pages)))
        store.feed(Batch(tuple(chunks), True))
    store.flush()
    return store


def whole_trees(recording: Recording, cpu: int) -> list[bytes]:
    """Records of calls from depth 0 with all that is inside; those of one task each."""
    decoder = Decoder(recording.formats, recording.header)
    begun: dict[int, list[bytes]] = {}
    whole: list[bytes] = []
    for record in records_of(recording, cpu, recording.header):
        fmt = recording.formats[int.from_bytes(record[:2], recording.header.byteorder)]
        if fmt.system != "ftrace":
            continue
        depth = dict(zip(fmt.names, decoder.layout(fmt.id).values(record, 0, len(record)), strict=True))["depth"]
        own = begun.setdefault(decoder.pid(record), [])
        if fmt.name.endswith("_exit"):
            if own and depth == 0:
                whole += [*own, record]
            own = begun[decoder.pid(record)] = [] if depth == 0 or not own else [*own, record]
        elif own or depth == 0:
            own.append(record)
    # A task that was seen on several CPUs would be on all of them at once.
    order = recording.header.byteorder
    return [one[:4] + (decoder.pid(one) + (cpu << 16)).to_bytes(4, order) + one[8:] for one in whole]


async def measured(watch: Watch, store: Store) -> list[Row]:
    """All figures."""
    pane = GraphPane()
    async with Host(lambda: pane).shown(120, 40) as pilot:
        began = time.process_time()
        shown = ShownGraph(watch, store, GraphNames(watch.connection))
        pane.graph.show(GraphRows(shown))
        while shown.growing.tick(0.05):
            pass
        shown.visible.tick()
        pane.graph.news(True)
        await pilot.pause()
        opened = time.process_time() - began
        tree = shown.tree
        assert tree.closed > 0.95 * CALLS, tree.counts
        rows = [bounded(f"{tree.closed:,} calls, until they are on the screen", opened, OPEN)]
        per_call = opened / tree.closed
        rows.append(
            (
                "  so 100,000 calls a second take",
                f"{per_call * 1e5:.0%} of a core",
                f"<= {LIVE:.0%}",
                per_call * 1e5 <= LIVE,
            )
        )
        memory = tree.columns.bytes / (1 << 20)
        rows.append(("  in the tree", f"{memory:.0f} MB", "<= 128 MB", memory <= 128))
        pane.graph.focus()
        frames = []
        for key in ("home", *["pagedown"] * PAGES, *["down"] * PAGES):
            began = time.process_time()
            await pilot.press(key)
            frames.append(time.process_time() - began)
        rows.append(
            bounded(f"a page or a line further, median of {len(frames)}", statistics.median(frames[1:]), FRAME)
        )
        began = time.process_time()
        pane.graph.action_levels(2)
        await pilot.pause()
        rows.append(bounded("all folded to two levels", time.process_time() - began, 0.1))
        rows.append(
            bounded("search for a function that is not there", took(lambda: shown.find("nothing", 0, 1, 60)), 0.5)
        )
        rows.append(bounded("hot spots of all of them, beside the screen", took(lambda: hot_spots(spent(tree))), 1.0))
        rows.append(bounded("the tree alone, without names and screen", took(lambda: grow(store)), OPEN))
        return rows


def grow(store: Store) -> None:
    """Make the tree."""
    growing = GrowingTree(store, {})
    while growing.tick(1.0):
        pass


def took(work: Callable[[], object]) -> float:
    """Seconds of CPU."""
    began = time.process_time()
    work()
    return time.process_time() - began


def bounded(what: str, seconds: float, most: float) -> Row:
    """A row of seconds."""
    return what, f"{seconds * 1e3:.1f} ms", f"<= {most * 1e3:.0f} ms", seconds <= most
