"""A recording of a million events a second: what is in the file, and what was too fast for it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from events.batch import Batch, Chunk
from events.recording.reader import Recording
from events.subbuffer import events_in
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import shipped_recording
from kernel.recording.target import RecordingTarget
from kernel.watch.recorder import Recorder
from tests.bench._measure import ROUNDS, Figure, Part, Row, Spread
from tests.bench._replay_app import CPUS, endless

RATE = 1_000_000
SECONDS = 2.5
"""Of each round."""
PASS = 0.03
"""Seconds between two passes."""

SHARE = Figure(f"recording at {RATE:,} events/s, and its end", "% of a core", most=100)
WRITTEN = Figure("  events in the file, of those that were sent", "%", least=90)
UNACCOUNTED = Figure("  events neither in the file nor counted as dropped", "events", most=0, digits=0)


class Round(NamedTuple):
    """A recording."""

    sent: int
    written: int
    dropped: int
    size: int
    """Bytes of the file."""
    share: float
    """Of a core, the closing of the file included."""
    rate: float
    """Events a second that were sent."""


def measured() -> list[Row]:
    """Five recordings."""
    rounds = [recorded() for _ in range(ROUNDS)]
    rate, size = rounds[0].rate, max(one.size for one in rounds)
    return [
        SHARE.of(Spread(tuple(one.share * 100 for one in rounds)), f"{rate:,.0f} events/s, {size >> 20} MiB"),
        WRITTEN.of(Spread(tuple(one.written / one.sent * 100 for one in rounds))),
        UNACCOUNTED.of(Spread(tuple(abs(one.sent - one.written - one.dropped) for one in rounds))),
    ]


def recorded() -> Round:
    shipped = Recording.open(shipped_recording())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.pwr")
        recorder = Recorder(path)
        recorder.write_kernel(KernelInfo(RecordingTarget(shipped, "shipped")))
        recorder.begin(shipped.header, ())
        recorder.start()
        cpus = [endless(shipped, cpu, CPUS * 10**9 // RATE) for cpu in range(CPUS)]
        for cpu in cpus:
            next(cpu)  # makes the sub-buffers
        cpu_began, began = time.process_time_ns(), time.perf_counter_ns()
        sent = paced(recorder, cpus)
        wall = time.perf_counter_ns() - began
        recorder.close({}, None)
        share = (time.process_time_ns() - cpu_began) / wall
        read = Recording.open(path)
        written = sum(events_in(chunk, shipped.header) for batch in read.batches() for chunk in batch.chunks)
        return Round(sent, written, recorder.dropped, path.stat().st_size, share, sent / wall * 1e9)


def paced(recorder: Recorder, cpus: list[Iterator[tuple[int, int, bytes]]]) -> int:
    """Give passes as they would come; gives the number of events."""
    until, sent, began = 0.0, 0, time.perf_counter()
    while until < SECONDS:
        until += PASS
        chunks = []
        for number, pages in enumerate(cpus):
            taken = []
            for end, count, data in pages:
                taken.append(data)
                sent += count
                if end >= until * 1e9:
                    break
            chunks.append(Chunk(number, b"".join(taken)))
        time.sleep(max(0.0, began + until - time.perf_counter()))
        recorder.pages(Batch(tuple(chunks), True))
    return sent


PARTS = (Part("million", (SHARE, WRITTEN, UNACCOUNTED), measured),)
