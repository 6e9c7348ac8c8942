"""The summary of a stream of 1,000,000 events a second: what it costs an event, beside taking the event in."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.recording import Recording
from events.store import Store
from events.summary.summary import Summary
from kernel.open import shipped_recording
from kernel.replay import recorded_plans
from tests.bench._replay_app import CPUS, endless
from tests.bench.live import Load, rows_of
from tui.ends import ends_of

Row = tuple[str, str, str, bool]

EVENTS = 1_000_000
PASS = 20_000
"""Events of a CPU between two looks, as at 1,000,000 a second on two CPUs and 25 looks a second."""
ROUNDS = 3
ON_SCREEN = Load(1_000_000, 15, 0.60, 0.100, 0.030, "summary")
"""The whole application while it shows the summary."""
MOST = 600
"""Nanoseconds of an event at 1,000,000 a second: 60 % of a core for taking it in and for its summary."""


def run() -> list[Row]:
    """Measure; gives (what, figure, bound, whether it holds)."""
    path = shipped_recording()
    assert path is not None
    recording = Recording.open(path)
    batches = batches_of(recording)
    plans = tuple(recorded_plans(recording))
    ends = ends_of(plans)
    entry = next(event.path for plan in plans for event in plan.events if "openat2__entry" in event.path)

    def nothing(_: Summary) -> None:
        return None

    def number(summary: Summary) -> None:
        summary.choose(entry, "dfd")

    def text(summary: Summary) -> None:
        summary.choose(entry, "filename")

    def pairs(summary: Summary) -> None:
        summary.choose(entry, "dfd")
        summary.use(ends)

    cases = (
        ("rates and processes", nothing),
        ("and the values of a number", number),
        ("and the values of a text", text),
        ("and latencies of pairs", pairs),
    )
    taken = {name: alternately(recording, batches, prepare) for name, prepare in cases}
    feeding = statistics.median(feed for feed, _ in taken.values())
    rows: list[Row] = [("taking events in, the peer", f"{feeding:.0f} ns an event", "", True)]
    for name, (_, counting) in taken.items():
        both = feeding + counting
        rows.append(
            (f"summary: {name}", f"{counting:.0f} ns, {both:.0f} with it", f"<= {MOST} ns with it", both <= MOST)
        )
    return rows + rows_of(ON_SCREEN)


def batches_of(recording: Recording) -> list[Batch]:
    """The recording's events in full sub-buffers, again and again."""
    cpus = [endless(recording, cpu, CPUS * 1000) for cpu in range(CPUS)]
    found: list[Batch] = []
    events = 0
    while events < EVENTS:
        chunks = []
        for number, cpu in enumerate(cpus):
            own = _some(cpu)
            events += sum(count for count, _ in own)
            chunks.append(Chunk(number, b"".join(data for _, data in own)))
        found.append(Batch(tuple(chunks), drained=True))
    return found


def _some(cpu: Iterator[tuple[int, int, bytes]]) -> list[tuple[int, bytes]]:
    """(events, sub-buffer) of one pass."""
    own: list[tuple[int, bytes]] = []
    while sum(count for count, _ in own) < PASS:
        _, count, data = next(cpu)
        own.append((count, data))
    return own


def alternately(
    recording: Recording, batches: list[Batch], prepare: Callable[[Summary], None]
) -> tuple[float, float]:
    """Median nanoseconds of CPU an event, for taking it in and for its summary."""
    rounds = [_once(recording, batches, prepare) for _ in range(ROUNDS)]
    return statistics.median(feed for feed, _ in rounds), statistics.median(count for _, count in rounds)


def _once(recording: Recording, batches: list[Batch], prepare: Callable[[Summary], None]) -> tuple[float, float]:
    store = Store(Decoder(recording.formats, recording.header), 32 << 20)
    summary = Summary(store)
    prepare(summary)
    feeding = counting = 0.0
    for batch in batches:
        began = time.thread_time()
        store.feed(batch)
        between = time.thread_time()
        while summary.behind:
            summary.tick(1.0)
        feeding += between - began
        counting += time.thread_time() - between
    assert summary.seen == store.next_seq and not summary.unseen
    return feeding * 1e9 / summary.seen, counting * 1e9 / summary.seen
