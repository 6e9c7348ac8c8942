"""A search through five million events in the store, forward and back."""

from __future__ import annotations

import functools
import itertools
import time

from events.batch import Batch, Chunk
from events.conditions.condition_parser import parse_condition
from events.conditions.field_kinds import ValueKind
from events.decode import Decoder
from events.recording.reader import Recording
from events.search.find import find
from events.search.search import Match
from events.store.store import Store
from kernel.connection.open_target import shipped_recording
from tests.bench._measure import Figure, Part, Row, cpu_timer, interleaved
from tests.bench._replay_app import CPUS, endless

EVENTS = 5_000_000
PASS_PAGES = 256
STEP = 0.012
"""Seconds of a step, as the screen takes them."""
NEEDLES: dict[str, str | Match] = {
    "condition": parse_condition("count > 0x10000000000", {"count": ValueKind.NUMBER}, str),
    "field": "count=123456789123",
    "path": "/no/such/file",
    "words": "nothing of the kind",
}
"""None of them is there, so that all is looked through."""


def figures(name: str) -> tuple[Figure, ...]:
    """Forward and back."""
    needle = NEEDLES[name]
    text = repr(needle) if isinstance(needle, str) else "count > 2**40"
    return tuple(
        Figure(f"{EVENTS:,} events, {text}, {way}", "s of CPU", most=2, digits=2) for way in ("forward", "back")
    )


def measured(name: str) -> list[Row]:
    """The rows of a needle; the longest step is only said."""
    store, rows = filled(), []
    for figure, direction in zip(figures(name), (1, -1), strict=True):
        steps: list[float] = []

        def look(way: int = direction, own: list[float] = steps) -> None:
            own.append(longest(store, name, way))

        (taken,) = interleaved(cpu_timer(look))
        rows.append(figure.of(taken, f"longest step {max(steps) * 1e3:.0f} ms of CPU"))
    return rows


@functools.cache
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


def longest(store: Store, name: str, direction: int) -> float:
    """Look through all of the store; gives the CPU seconds of the longest step."""
    at, found = store.first_seq if direction > 0 else store.next_seq - 1, None
    most = 0
    while found is None or not found.done:
        began = time.process_time_ns()
        found = find(store, NEEDLES[name], at, direction, STEP)
        most = max(most, time.process_time_ns() - began)
        assert found.seq is None
        at = found.next
    return most / 1e9


PARTS = tuple(Part(name, figures(name), functools.partial(measured, name)) for name in NEEDLES)
