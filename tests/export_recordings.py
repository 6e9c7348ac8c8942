"""Recordings of every kind that can be given out: calls, graphs, with cuts and losses, cut short, without events."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.recording.reader import Recording, RecordingWriter
from events.store.outage_mark import Outage
from events.store.store import Store
from kernel.commands.output_lines import OutputLine
from kernel.commands.output_pages import OUTPUT_FORMAT, OUTPUT_PLAN, output_batch
from kernel.connection.open_target import shipped_recording
from kernel.watch.recorder import CUTS
from probes.plans.json_values import plan_to_dict
from tests.events_data import entry, event, page
from tests.trimmed_recordings import graph_recording

Change = Callable[[Recording, list[Batch]], list[Batch]]
"""Makes other passes of those of a recording."""
SECONDS = 4.0
"""That the connection is lost for."""


def recording(kind: str, folder: Path) -> Path:
    """Write a recording of a kind; gives its path."""
    path = folder / f"{kind}.pwr"
    path.write_bytes(_written(kind))
    return path


@functools.cache
def _written(kind: str) -> bytes:
    """Return the bytes of a recording of a kind; to write it takes half a second."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{kind}.pwr"
        KINDS[kind](path)
        return path.read_bytes()


def late_graph(path: Path, kernel: str) -> Path:
    """Write a recording whose first pass has a task switch and no call; gives its path."""
    _copied(path, _graph(path, kernel), _with_switch_first)
    return path


def outage_recording(path: Path, outage: Outage) -> Path:
    """Write the shipped events and the mark of an outage, with the events again where it ended; gives its path."""

    def changed(whole: Recording, passes: list[Batch]) -> list[Batch]:
        store = Store(Decoder(whole.formats, whole.header))
        store.feed(*passes)
        return [*passes, outage.batch(store.latest), *(() if outage.for_good else passes)]

    _copied(path, _shipped(), changed, cuts=True)
    return path


def lines_recording(path: Path, pid: int) -> Path:
    """Write the shipped events with lines that a command of this thread id wrote among them; gives its path."""

    def changed(whole: Recording, passes: list[Batch]) -> list[Batch]:
        store = Store(Decoder(whole.formats, whole.header))
        store.feed(*passes)
        store.flush()
        times = (store.row(seq).ts for seq in range(0, len(store), 20))
        return [output_batch([OutputLine(ts, "stdout", b"a line") for ts in times], pid, whole.header), *passes]

    _copied(path, _shipped(), changed, has_lines=True)
    return path


def _shipped() -> Path:
    found = shipped_recording()
    assert found is not None
    return found


def _copied(path: Path, source: Path, change: Change, *, cuts: bool = False, has_lines: bool = False) -> None:
    whole = Recording.open(source)
    with path.open("wb") as file:
        writer = RecordingWriter(file)
        lines = {"plans": [*whole.meta["plans"], plan_to_dict(OUTPUT_PLAN)]} if has_lines else {}
        writer.meta({**whole.meta, **({CUTS: [{"seconds": SECONDS}]} if cuts else {}), **lines})
        for kind, name, entry, start in whole._named.values():
            writer.blob(kind, name, whole._file.raw(entry)[start:])
        if has_lines:
            writer.blob("format", OUTPUT_FORMAT.path, OUTPUT_FORMAT.source.encode())
        for batch in change(whole, list(whole.batches())):
            writer.pages(batch)
        writer.close()


def _with_cut(whole: Recording, passes: list[Batch]) -> list[Batch]:
    """The connection is lost in the middle of the events."""
    half = len(passes) // 2
    store = Store(Decoder(whole.formats, whole.header))
    store.feed(*passes[:half])
    lost = store.latest
    mark = Outage.between(lost, lost + int(SECONDS * 10**9)).batch(lost)
    return [*passes[:half], mark, *passes[half:]]


def _with_loss(_: Recording, passes: list[Batch]) -> list[Batch]:
    """A pass is missing, and said to be."""
    at = len(passes) // 2
    behind = passes[at + 1]
    return [*passes[:at], Batch(behind.chunks, behind.drained, after_gap=True), *passes[at + 2 :]]


def _with_overrun(_: Recording, passes: list[Batch]) -> list[Batch]:
    """The kernel had to write over events in front of a sub-buffer (RB_MISSED_EVENTS, kernel/trace/ring_buffer.c)."""
    at = next(n for n in range(len(passes) // 2, len(passes)) if passes[n].chunks)
    first, *others = passes[at].chunks
    data = bytearray(first.data)
    data[11] |= 0x80
    changed = passes[at]._replace(chunks=(first._replace(data=bytes(data)), *others))
    return [*passes[:at], changed, *passes[at + 1 :]]


def _with_switch_first(whole: Recording, passes: list[Batch]) -> list[Batch]:
    """Return the passes behind one that has a task switch and no call."""
    switch = next(fmt for fmt in whole.formats.values() if fmt.path == "sched/sched_switch")
    store = Store(Decoder(whole.formats, whole.header))
    store.feed(*passes)
    record = entry(switch.id, 1, bytes(max(field.end for field in switch.fields) - 8))
    made = page(store.row(store.first_seq).ts - 1000, event(record, 0), whole.header)
    return [Batch((Chunk(0, made),), drained=True), *passes]


def _of_a_third(change: Change) -> Change:
    """Make the change to the first third of the passes, and leave out the rest: a graph has many events."""
    return lambda whole, passes: change(whole, passes[: len(passes) // 3])


def _graph(path: Path, kernel: str = "full") -> Path:
    return graph_recording(path.with_suffix(".whole.pwr"), kernel)


KINDS: dict[str, Callable[[Path], object]] = {
    "calls": lambda path: path.write_bytes(_shipped().read_bytes()),
    "graph": lambda path: graph_recording(path, "full"),
    "graph-without-results": lambda path: _copied(path, _graph(path, "7.2"), _of_a_third(lambda _, passes: passes)),
    "cut": lambda path: _copied(path, _shipped(), _with_cut, cuts=True),
    "overrun": lambda path: _copied(path, _shipped(), _with_overrun),
    "untold-cut": lambda path: _copied(path, _shipped(), _with_cut),
    "graph-cut": lambda path: _copied(path, _graph(path), _of_a_third(_with_cut), cuts=True),
    "graph-loss": lambda path: _copied(path, _graph(path), _of_a_third(_with_loss)),
    "graph-overrun": lambda path: _copied(path, _graph(path), _of_a_third(_with_overrun)),
    "short": lambda path: path.write_bytes(_shipped().read_bytes()[:-20_000]),
    "empty": lambda path: _copied(path, _shipped(), lambda *_: []),
    "empty-graph": lambda path: _copied(path, _graph(path), lambda *_: []),
}
