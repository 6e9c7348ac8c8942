"""A recording of a million events a second: what is in the file, and what was too fast for it."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from events.batch import Batch, Chunk
from events.recording import Recording
from events.subbuffer import events_in
from kernel.connection import Connection
from kernel.open import shipped_recording
from kernel.recorder import Recorder
from kernel.recording import RecordingTarget
from tests.bench._replay_app import CPUS, endless

Row = tuple[str, str, str, bool]

RATE = 1_000_000
SECONDS = 10
PASS = 0.03
"""Seconds between two passes."""


def run() -> list[Row]:
    """Measure; gives (what, figure, bound, whether it holds)."""
    shipped = Recording.open(shipped_recording())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.pwr")
        recorder = Recorder(path, Connection(RecordingTarget(shipped, "shipped")))
        recorder.begin(shipped.header, ())
        sent, given, took = paced(recorder, shipped)
        before = time.process_time()
        recorder.close({}, None)
        left = time.process_time() - before
        size = path.stat().st_size
        read = Recording.open(path)
        header = shipped.header
        written = sum(events_in(chunk, header) for batch in read.batches() for chunk in batch.chunks)
    return [
        (
            f"recording at {sent / took:,.0f} events/s",
            f"{given * 100:.1f} % of a core, {size >> 20} MiB, then {left:.1f} s",
            "<= 100 %",
            given <= 1,
        ),
        (
            "events in the file + too fast for it = sent",
            f"{written:,} + {recorder.dropped:,}",
            f"{sent:,}, nine of ten written",
            written + recorder.dropped == sent and written >= 0.9 * sent,
        ),
    ]


def paced(recorder: Recorder, shipped: Recording) -> tuple[int, float, float]:
    """Give passes as they would come; gives the number of events, the share of a core, and the seconds it took."""
    cpus = [endless(shipped, cpu, CPUS * 10**9 // RATE) for cpu in range(CPUS)]
    until, sent = 0.0, 0
    cpu, began = time.process_time(), time.perf_counter()
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
    return sent, (time.process_time() - cpu) / SECONDS, time.perf_counter() - began
