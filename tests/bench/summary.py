"""The summary of a stream of 1,000,000 events a second: what it costs an event, beside taking the event in."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.recording.reader import Recording
from events.store.store import Store
from events.summary.summary import Summary
from kernel.connection.open_target import shipped_recording
from kernel.recording.replay import recorded_plans
from tests.bench._measure import Figure, Part, Row, cpu_timer, interleaved
from tests.bench._replay_app import CPUS, endless
from tests.bench.live import Load, part_of
from tui.present.call_ends import ends_of

EVENTS = 1_000_000
PASS = 20_000
"""Events of a CPU between two looks, as at 1,000,000 a second on two CPUs and 25 looks a second."""
MOST = 500
"""Nanoseconds of an event at 1,000,000 a second: half of a core for taking it in and for its summary."""
ON_SCREEN = Load(1_000_000, 32, 50, 100, 30, "summary")
"""The whole application while it shows the summary."""

CASES = {
    "rates": "rates and processes",
    "number": "and the values of a number",
    "text": "and the values of a text",
    "pairs": "and latencies of pairs",
}
FIGURES = {
    case: Figure(f"an event taken in and its summary: {counted}", "ns of CPU", most=MOST, digits=0)
    for case, counted in CASES.items()
}


class Material(NamedTuple):
    """A recording, passes of its events, and how many these are."""

    recording: Recording
    batches: list[Batch]
    events: int


@functools.cache
def material() -> Material:
    """The shipped recording's events in full sub-buffers, again and again."""
    path = shipped_recording()
    assert path is not None
    recording = Recording.open(path)
    batches, events = batches_of(recording)
    return Material(recording, batches, events)


def prepare(summary: Summary, case: str) -> None:
    """Choose what is counted."""
    plans = tuple(recorded_plans(material().recording))
    entry = next(event.path for plan in plans for event in plan.events if "openat2__entry" in event.path)
    if case in ("number", "pairs"):
        summary.choose(entry, "dfd")
    if case == "text":
        summary.choose(entry, "filename")
    if case == "pairs":
        summary.use(ends_of(plans))


def measured(case: str) -> list[Row]:
    """Both, beside the taking in alone."""
    taking_in, both = interleaved(cpu_timer(lambda: feed(None)), cpu_timer(lambda: feed(case)))
    taking_in, both = (one.each(lambda seconds: seconds / material().events * 1e9) for one in (taking_in, both))
    return [FIGURES[case].of(both, f"the taking in {taking_in.median:.0f} ns")]


def feed(case: str | None) -> None:
    """A new store with all events, and their summary between two looks."""
    recording = material().recording
    store = Store(Decoder(recording.formats, recording.header), 32 << 20)
    summary = Summary(store) if case else None
    if summary and case:
        prepare(summary, case)
    for batch in material().batches:
        store.feed(batch)
        while summary and summary.backlog:
            summary.tick(1.0)
    assert not summary or (summary.counted == store.next_seq and not summary.skipped_events)


def batches_of(recording: Recording) -> tuple[list[Batch], int]:
    """(passes, events)."""
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
    return found, events


def _some(cpu: Iterator[tuple[int, int, bytes]]) -> list[tuple[int, bytes]]:
    """(events, sub-buffer) of one pass."""
    own: list[tuple[int, bytes]] = []
    while sum(count for count, _ in own) < PASS:
        _, count, data = next(cpu)
        own.append((count, data))
    return own


PARTS = (
    *(Part(case, (figure,), functools.partial(measured, case)) for case, figure in FIGURES.items()),
    part_of("screen", ON_SCREEN),
)
