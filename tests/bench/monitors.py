"""Ten monitors at 10 Hz: samples, their way to the store, and the table of numbers, as CPU time of the process."""

from __future__ import annotations

import os
import struct
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from events.decode import Decoder
from events.format import HeaderPage, parse_format
from events.numbers.number_series import NumberSamples
from events.store.store import Store
from kernel.agent.number_readers import KCORE, KcoreFile
from kernel.bpf.ring_stream import ConvertedStream
from kernel.local.stream import LocalStream
from kernel.target import RingMap, SampleForm
from probes.plans.sampled_number import FileNumberPlace, SampledNumber, sample_layout
from tests.bench._measure import ROUNDS, Figure, Part, Row, Spread
from tests.fake_target import HEADER_PAGE

SECONDS = 2.0
"""Of each round."""
EVERY_US = 100_000
FIRST_ID = 0x8000
START = 0xFFFF_8880_0000_0000
FILES = (("/proc/meminfo", "MemFree"), ("/proc/vmstat", "pgfault"), ("/proc/stat", "ctxt"), ("/proc/loadavg", ""))
COST = Figure("10 monitors at 10 Hz, 5 in files and 5 in memory", "% of a core", most=1, digits=2)
SHOWN = Figure("the same, with the table of numbers kept up to date", "% of a core", digits=2)


@contextmanager
def memory() -> Iterator[tuple[int, str]]:
    """An address that can be read, and what is read: the kernel's memory, or a core file where that can't be."""
    try:
        core = KcoreFile()
        start = core._segments[0][0]
        core.read(start, 8)
        core.close()
        yield start, "/proc/kcore"
    except OSError:
        with tempfile.NamedTemporaryFile() as file:
            head = b"\x7fELF\x02\x01".ljust(16, b"\0") + struct.pack(
                "<2HI3QI6H", 4, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0
            )
            segment = struct.pack("<2I6Q", 1, 7, 4096, START, 0, 4096, 4096, 4096)
            file.write((head + segment).ljust(8192, b"\0"))
            file.flush()
            KcoreFile.__init__.__defaults__ = (os.fsencode(file.name),)
            yield START, "a core file"
            KcoreFile.__init__.__defaults__ = (KCORE,)


def forms(start: int) -> list[SampleForm]:
    """Five numbers in files, five in memory, one of them the sum of four CPUs, one behind a pointer's place."""
    layout = sample_layout("s64")
    files = [*FILES, ("/proc/meminfo", "Cached")]
    found = [
        SampleForm(SampledNumber(EVERY_US, layout, 8, True, FileNumberPlace(path, key)), FIRST_ID + number)
        for number, (path, key) in enumerate(files)
    ]
    for number in range(len(found), 10):
        bases = tuple(start + 64 * cpu for cpu in range(4 if number == 9 else 1))
        one = SampledNumber(EVERY_US, layout, 8, True, None, 1, tuple(enumerate(bases)), (8,))
        found.append(SampleForm(one, FIRST_ID + number, bases))
    return found


def cost() -> Iterable[Row]:
    """CPU time of the process while it does nothing else."""
    with tempfile.TemporaryDirectory() as folder, memory() as (start, place):
        Path(folder, "per_cpu").mkdir()
        Path(folder, "events").mkdir()
        Path(folder, "events/header_page").write_text(HEADER_PAGE)
        stream = ConvertedStream(LocalStream(folder))
        stream.header = header = HeaderPage.parse(HEADER_PAGE)
        made = forms(start)
        formats = {
            one.id: parse_format(
                one.number.layout.format_text(f"mon_{one.id}", one.id, one.number.layout.size), "bench"
            )
            for one in made
        }
        store = Store(Decoder(formats, header))
        numbers = NumberSamples(store, {fmt.path: False for fmt in formats.values()})
        for number, one in enumerate(made, 1):
            stream.add_rings(number, one, (RingMap(0, 0, 0),))
        _round(stream, store, None)
        rounds = [_round(stream, store, None) for _ in range(ROUNDS)]
        _round(stream, store, numbers)
        shown = [_round(stream, store, numbers) for _ in range(ROUNDS)]
        stream.close()
    samples, unread = numbers.samples, sum(one.unread for one in numbers.series.values())
    yield COST.of(Spread(tuple(rounds)), f"{samples} samples, {unread} unreadable, memory from {place}")
    yield SHOWN.of(Spread(tuple(shown)))


def _round(stream: ConvertedStream, store: Store, numbers: NumberSamples | None) -> float:
    """Return the percentage of a core of one round."""
    began, used = time.monotonic(), time.process_time()
    while time.monotonic() < began + SECONDS:
        batch = stream.read(0.1)
        if batch is not None:
            store.feed(batch)
            if numbers is not None:
                numbers.tick(0.01)
    return 100 * (time.process_time() - used) / (time.monotonic() - began)


PARTS = (Part("cost", (COST, SHOWN), cost),)
