"""The call graph of a million calls: until it is on the screen, a page of it, folding, search, hot spots."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from textual.pilot import Pilot
from textual.widgets import DataTable

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.graph.hot_spots import call_times, hot_spots
from events.graph.live_tree import LiveTree
from events.recording.reader import Recording
from events.store.store import Store
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import open_target
from kernel.connection.planner import Planner
from kernel.watch.watch import Watch
from tests.bench._measure import Figure, Part, Row, Spread, cpu_timer, interleaved
from tests.bench._replay_app import CPUS, event, page, records_of
from tests.interface.widget_host import Host
from tests.trimmed_recordings import graph_recording
from tui.views.graph.model import GraphModel
from tui.views.graph.names import GraphNames
from widgets.events.graph_pane import GraphPane
from widgets.events.graph_rows import GraphRows

CALLS = 1_000_000
DELTA = 1000
"""Nanoseconds between two events of a CPU."""
PASS_PAGES = 256
LEVELS = 2
TABLE_ROWS = 20_000

OPEN = Figure("a million calls on the screen / 20,000 rows of DataTable", "x", most=0.5, digits=2)
LIVE = Figure("  so 100,000 calls a second take", "% of a core", most=35)
MEMORY = Figure("  in the tree", "MiB", most=128, digits=0)
PAGE = Figure("a page further / of Textual's DataTable", "x", most=1, digits=2)
LINE = Figure("a line further / of Textual's DataTable", "x", most=1, digits=2)
FOLD = Figure("all folded to two levels", "ms", most=100)
SEARCH = Figure("search for a function that is not there", "ms", most=500)
HOT = Figure("hot spots of all of them, beside the screen", "ms", most=1000)
TREE = Figure("the tree alone, without names and screen", "ms", most=1000, digits=0)


class OnScreen(NamedTuple):
    """The graph in a terminal of 120x40; calls take the place of keys."""

    runner: asyncio.Runner
    pilot: Pilot[None]
    pane: GraphPane
    shown: GraphModel

    def fill(self) -> None:
        """Put all calls on the screen."""
        self.pane.graph.show(GraphRows(self.shown))
        while self.shown.live_tree.tick(0.05):
            pass
        self.shown.visible.tick()
        self.pane.graph.news(True)
        self.settle()

    def settle(self) -> None:
        """Let it paint."""
        self.wait(self.pilot.pause())

    def press(self, key: str) -> None:
        self.wait(self.pilot.press(key))

    def wait(self, work: Coroutine[Any, Any, None]) -> None:
        self.runner.run(work)


@functools.cache
def material() -> Watch:
    """A watch of a store with a million calls."""
    with tempfile.TemporaryDirectory() as folder:
        path = graph_recording(Path(folder, "graph.pwr"))
        watch = Watch(Planner(KernelInfo(open_target(str(path)))))
        watch.info.symbols.load()
        watch.begin()
        watch.intake.store = filled(Recording.open(path))
        return watch


@contextlib.contextmanager
def screen() -> Iterator[OnScreen]:
    """A screen on which nothing is yet."""
    watch, pane = material(), GraphPane()
    assert watch.store is not None
    with asyncio.Runner() as runner:
        host = Host(lambda: pane).shown(120, 40)
        pilot = runner.run(host.__aenter__())
        try:
            yield OnScreen(runner, pilot, pane, GraphModel(watch, watch.store, GraphNames(watch.info)))
        finally:
            runner.run(host.__aexit__(None, None, None))


@contextlib.contextmanager
def full_screen() -> Iterator[OnScreen]:
    """A screen with all calls on it, and its keys."""
    with screen() as on:
        on.fill()
        on.pane.graph.focus()
        yield on


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


def opened() -> list[Row]:
    """All calls onto a new screen, again and again."""
    sizes = []

    def open_once() -> float:
        with screen() as on:
            taken = cpu_timer(on.fill)()
            tree = on.shown.tree
            assert tree.closed > 0.95 * CALLS, tree.counts
            sizes.append((tree.closed, tree.columns.bytes / (1 << 20)))
            return taken

    def fill_table() -> float:
        with table(filled=False) as on:
            return cpu_timer(on.fill)()

    material()
    taken, peer = interleaved(open_once, fill_table)
    calls = sizes[0][0]
    return [
        OPEN.of(taken.over(peer), f"{calls:,} calls: {taken.median * 1e3:,.0f} ms beside {peer.median * 1e3:,.0f}"),
        LIVE.of(taken.each(lambda seconds: seconds / calls * 1e5 * 100)),
        MEMORY.of(Spread(tuple(size for _, size in sizes))),
    ]


def paged() -> list[Row]:
    """Keys that move the screen, from key to frame, beside a table of as many columns."""
    with full_screen() as on, table() as peer:
        on.press("home")
        keys = ("pagedown", "down")
        timers = [cpu_timer(functools.partial(way, key)) for key in keys for way in (on.press, peer.press)]
        paging, paging_table, line, line_of_table = interleaved(*timers)
    return [_beside(PAGE, paging, paging_table), _beside(LINE, line, line_of_table)]


def _beside(figure: Figure, own: Spread, peer: Spread) -> Row:
    return figure.of(own.over(peer), f"{own.median * 1e3:.1f} ms beside {peer.median * 1e3:.1f}")


class TableOnScreen(NamedTuple):
    """A DataTable in a terminal of 120x40, for rows that look like calls."""

    runner: asyncio.Runner
    pilot: Pilot[None]
    table: DataTable[str]

    def fill(self) -> None:
        """Put all rows on the screen."""
        self.table.add_rows((f"{n}.000001", "1", "head-219", "12.3 us", "vfs_read()") for n in range(TABLE_ROWS))
        self.runner.run(self.pilot.pause())

    def press(self, key: str) -> None:
        self.runner.run(self.pilot.press(key))


@contextlib.contextmanager
def table(*, filled: bool = True) -> Iterator[TableOnScreen]:
    """Show a DataTable that has the focus."""
    shown = DataTable[str](cursor_type="row")
    with asyncio.Runner() as runner:
        host = Host(lambda: shown).shown(120, 40)
        pilot = runner.run(host.__aenter__())
        try:
            shown.add_columns(*("time", "cpu", "task", "duration", "call"))
            shown.focus()
            on = TableOnScreen(runner, pilot, shown)
            if filled:
                on.fill()
            yield on
        finally:
            runner.run(host.__aexit__(None, None, None))


def folded() -> list[Row]:
    """All folded, from all unfolded."""
    with full_screen() as on:

        def fold() -> None:
            on.pane.graph.action_levels(LEVELS)
            on.settle()

        def timer() -> float:
            on.pane.graph.action_levels(9)
            on.settle()
            return cpu_timer(fold)()

        (taken,) = interleaved(timer)
    return [FOLD.of(milliseconds(taken))]


def beside(figure: Figure, work: Callable[[GraphModel], object]) -> list[Row]:
    """Work on the calls that are on a screen."""
    with full_screen() as on:
        (taken,) = interleaved(cpu_timer(lambda: work(on.shown)))
    return [figure.of(milliseconds(taken))]


def milliseconds(taken: Spread) -> Spread:
    return taken.each(lambda seconds: seconds * 1e3)


def grown() -> list[Row]:
    """The tree alone."""
    store = material().store
    assert store is not None

    def grow() -> None:
        growing = LiveTree(store, {})
        while growing.tick(1.0):
            pass

    (taken,) = interleaved(cpu_timer(grow))
    return [TREE.of(milliseconds(taken))]


PARTS = (
    Part("open", (OPEN, LIVE, MEMORY), opened),
    Part("keys", (PAGE, LINE), paged),
    Part("fold", (FOLD,), folded),
    Part("search", (SEARCH,), lambda: beside(SEARCH, lambda shown: shown.find("nothing", 0, 1, 60))),
    Part(
        "hot",
        (HOT,),
        lambda: beside(HOT, lambda shown: hot_spots(call_times(shown.tree, shown.store.boots), shown.lines.title_of)),
    ),
    Part("tree", (TREE,), grown),
)
