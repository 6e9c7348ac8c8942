"""Function graph: rows of the store to the ends of calls, a million of them, and the kernel's text of a screenful."""

from __future__ import annotations

from events.store.store import Store
from tests.bench._measure import Figure, Part, Row, cpu_timer, interleaved
from tests.events_data import captured, store_of
from tests.graph_reader import GraphReader
from tests.graph_style import GraphStyle
from tests.graph_text import GraphPrinter, Names

KERNEL = "7.2"
REPEAT = 2200
SCREEN = 100

ENDS = Figure("rows to ends of calls", "M/s of CPU", least=3)
TEXT = Figure(f"{SCREEN} rows as text; a frame", "ms", most=16, digits=2)


def ends() -> list[Row]:
    """All rows of a large store."""
    store = filled()

    def read() -> None:
        reader = GraphReader(store)
        while len(reader.read()):
            pass

    (taken,) = interleaved(cpu_timer(read))
    return [ENDS.of(taken.each(lambda seconds: len(store) / seconds / 1e6), f"{len(store):,} rows")]


def text() -> list[Row]:
    """A screenful."""
    store = filled()
    found = GraphReader(store).read(SCREEN)
    names = Names(captured(KERNEL, "fgraph").symbols, store.task_names.name, store.record)
    (taken,) = interleaved(cpu_timer(lambda: GraphPrinter(GraphStyle(), names).text(found)))
    return [TEXT.of(taken.each(lambda seconds: seconds * 1e3))]


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


PARTS = (Part("ends", (ENDS,), ends), Part("text", (TEXT,), text))
