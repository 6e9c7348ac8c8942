"""A search through five million events in the store, forward and back."""

from __future__ import annotations

import itertools
import time

from events.batch import Batch, Chunk
from events.condition_text import condition
from events.decode import Decoder
from events.field_sort import Sort
from events.recording import Recording
from events.search import Match
from events.store import Store
from kernel.open import shipped_recording
from tests.bench._replay_app import CPUS, endless

Row = tuple[str, str, str, bool]

EVENTS = 5_000_000
PASS_PAGES = 256
STEP = 0.012
"""Seconds of a step, as the screen takes them."""
MOST = 2.0
"""Seconds."""
NEEDLES: tuple[str | Match, ...] = (
    condition("count > 0x10000000000", {"count": Sort.NUMBER}, str),
    "count=123456789123",
    "/no/such/file",
    "nothing of the kind",
)
"""None of them is there, so that all is looked through."""


def run() -> list[Row]:
    """Measure; gives (what, figure, bound, whether it holds)."""
    store = filled()
    rows = []
    for needle in NEEDLES:
        what = needle if isinstance(needle, str) else "count > 2**40"
        for direction in (1, -1):
            cpu, wall, longest = searched(store, needle, direction)
            rows.append(
                (
                    f"{len(store):,} events, {what!r}, {'forward' if direction > 0 else 'back'}",
                    f"{cpu:.2f} s of CPU, {wall:.2f} s, step {longest * 1e3:.0f} ms",
                    f"<= {MOST:.0f} s of CPU",
                    cpu <= MOST,
                )
            )
    return rows


def filled() -> Store:
    """A store of what the shipped recording has, again and again."""
    recording = Recording.open(shipped_recording())
    store = Store(Decoder(recording.formats, recording.header), 1 << 40)
    cpus = [endless(recording, cpu, 1000) for cpu in range(CPUS)]
    while store.next_seq < EVENTS:
        taken = [b"".join(page for _, _, page in itertools.islice(cpu, PASS_PAGES)) for cpu in cpus]
        store.feed(Batch(tuple(Chunk(cpu, data) for cpu, data in enumerate(taken)), True))
    store.flush()
    return store


def searched(store: Store, needle: str | Match, direction: int) -> tuple[float, float, float]:
    """Seconds of CPU and of the wall until the end, and the longest step."""
    at = store.first_seq if direction > 0 else store.next_seq - 1
    cpu, began, longest, done = time.process_time(), time.perf_counter(), 0.0, False
    while not done:
        step = time.process_time()
        found = store.find(needle, at, direction, STEP)
        longest = max(longest, time.process_time() - step)
        assert found.seq is None
        at, done = found.next, found.done
    return time.process_time() - cpu, time.perf_counter() - began, longest
