"""BPF ring buffers: their records to rows and columns, beside sub-buffers of the same events."""

from __future__ import annotations

import contextlib
import functools
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from events.batch import Batch, Chunk
from events.bpf_records import RecordConverter
from events.decode import Decoder
from events.format import HeaderPage, parse_format
from events.store.store import Store
from probes.bpf.record import ADDRESS, RecordLayout, stored_type
from tests.bench._measure import ROUNDS, Figure, Part, Row, Spread, cpu_timer, interleaved
from tests.bench.decode import columns_of
from tests.ring_producer import NoPrograms, RingProducer, RingReader

RECORDS = 1_000_000
PASS_BYTES = 1 << 20
"""Bytes of a pass, as of a busy machine."""
RING_BYTES = 4 << 20
"""As of the programs of a probe (`kernel.bpf.rings`)."""
ID = 0x8000
HEADER = HeaderPage()
ROWS = Figure("records of ring buffers to rows of the store", "M events/s")
WHOLE = Figure("  to rows, and all their numbers to arrays", "M events/s", least=4)
FULL = Figure("events of a ring buffer filled at full speed, each accounted", "M events/s", least=1)
SHARE = Figure("records to rows / sub-buffers of the same events to rows", "x", most=2)


@functools.cache
def layout() -> RecordLayout:
    """A function's address and three numbers."""
    numbers = [(name, kind) for name in ("a", "b", "c") if (kind := stored_type("u64")) is not None]
    return RecordLayout.of([("__probe_ip", ADDRESS), *numbers])


@functools.cache
def passes() -> list[Batch]:
    """Records of two CPUs, a microsecond apart, twenty of a task one after the other."""
    stride = layout().size + 8
    words = np.zeros((RECORDS, stride // 4), np.uint32)
    stamps = np.arange(RECORDS, dtype=np.uint64) * np.uint64(1000) + np.uint64(1 << 40)
    words[:, 0] = layout().size
    words[:, 2], words[:, 3] = stamps & np.uint64(0xFFFFFFFF), stamps >> np.uint64(32)
    words[:, 4], words[:, 7] = 1000 + np.arange(RECORDS) // 20 % 50, ID
    step = PASS_BYTES // stride
    return [
        Batch((Chunk(number % 2, words[at : at + step].tobytes(), ring=1),), drained=True)
        for number, at in enumerate(range(0, RECORDS, step))
    ]


def converter() -> RecordConverter:
    made = RecordConverter(HEADER)
    made.sizes[1] = layout().size
    return made


@functools.cache
def converted() -> list[Batch]:
    """The same as sub-buffers."""
    own = converter()
    return [own.converted(batch) for batch in passes()]


def store_of(batches: list[Batch], own: RecordConverter | None) -> Store:
    formats = {ID: parse_format(layout().format_text("event", ID, layout().size), "bench")}
    store = Store(Decoder(formats, HEADER), 1 << 40)
    for batch in batches:
        store.feed(own.converted(batch) if own is not None else batch)
    store.flush()
    return store


def rate(seconds: Spread) -> Spread:
    return seconds.each(lambda taken: RECORDS / taken / 1e6)


def rings() -> list[Row]:
    assert store_of(passes(), converter()).next_seq == RECORDS
    pages, rows, whole = interleaved(
        cpu_timer(lambda: store_of(converted(), None)),
        cpu_timer(lambda: store_of(passes(), converter())),
        cpu_timer(lambda: columns_of(store_of(passes(), converter()))),
    )
    return [ROWS.of(rate(rows)), WHOLE.of(rate(whole)), SHARE.of(rows.over(pages))]


def full_speed() -> list[Row]:
    """A ring buffer that the kernel of this machine fills as fast as it can, read to rows meanwhile."""
    rates, lost = [], 0
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            try:
                producer = RingProducer(RING_BYTES)
            except NoPrograms as error:
                return [FULL.missing(str(error))]
            with producer, contextlib.closing(RingReader(producer, Path(folder))) as reader:
                filler = threading.Thread(target=producer.run, args=(RECORDS,))
                began = time.monotonic_ns()
                filler.start()
                reader.read(lambda: not filler.is_alive())  # noqa: B023 - it is read within the round
                took = time.monotonic_ns() - began
                runs, missing = producer.counts
                assert runs == RECORDS == len(reader.store) + missing
                rates.append(RECORDS / took * 1e3)
                lost += missing
    return [FULL.of(Spread(tuple(rates)), f"{lost:,} of {RECORDS * ROUNDS:,} found no room, all told")]


PARTS = (Part("rings", (ROWS, WHOLE, SHARE), rings), Part("full-speed", (FULL,), full_speed))
