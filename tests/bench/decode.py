"""Events: pages to columns, values and counts against trace-cmd report; the store at 100,000 events a second."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from events.batch import Batch, Chunk
from events.search.search import plain_text
from events.store.columns import PIECE, is_number
from events.store.store import Store
from events.subbuffer import count
from tests.bench._measure import ROUNDS, Figure, Part, Row, Spread, child_timer, cpu_timer, interleaved
from tests.events_data import archive, captured

KERNEL = "7.2"
REPEAT = 600
RATE = 100_000
SECONDS = 2.5
"""Of each round at that rate."""
TICKS = 20
"""A second; as often as the screen looks."""
PASS_PAGES = 256
"""Sub-buffers of a CPU in a pass of the large store."""
SCREEN = 40
"""Rows that are painted at each tick."""
STORE_BYTES = 8 << 20
"""Small, so that old blocks are dropped while it runs."""

HEADER_EVENT = """# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
"""

COLUMNS = Figure("raw pages to columns, every number / trace-cmd report", "x", least=10)
TAKING_IN = Figure("  of it pages to rows of the store", "M events/s")
TO_ARRAYS = Figure("  of it rows of the store to arrays", "M events/s")
VALUES = Figure("raw pages to values / trace-cmd report", "x", least=2)
COUNT = Figure("walk that only counts / trace-cmd report", "x", least=20)
SHARE = Figure(f"store and {SCREEN} rows a tick at {RATE:,} events/s", "% of a core", most=8)
LONGEST = Figure("  longest tick of it", "ms", most=20)
KEPT = Figure("  bytes that the store kept", "KiB", most=(STORE_BYTES >> 10) + 1024, digits=0)


def pages_of(cpu: int, repeat: int) -> list[bytes]:
    """The capture's pages of a CPU, again and again, each time a minute later."""
    taken = captured(KERNEL, "my")
    size, raw = taken.decoder.header.page_size, taken.raw[cpu]
    pages = [raw[at : at + size] for at in range(0, len(raw), size)]
    stamps = [int.from_bytes(page[:8], "little") for page in pages]
    minute = 60 * 10**9
    return [
        (ts + number * minute).to_bytes(8, "little") + page[8:]
        for number in range(repeat)
        for ts, page in zip(stamps, pages, strict=True)
    ]


class Material(NamedTuple):
    """Pages for ours, and the same pages as a file for trace-cmd."""

    pages: list[bytes]
    batches: list[Batch]
    events: int


@functools.cache
def material() -> Material:
    """The capture's pages, and how many events they have."""
    header = captured(KERNEL, "my").decoder.header
    by_cpu = {cpu: pages_of(cpu, REPEAT) for cpu in captured(KERNEL, "my").raw}
    pages = [page for own in by_cpu.values() for page in own]
    batches = [
        Batch(tuple(Chunk(cpu, b"".join(own[at : at + PASS_PAGES])) for cpu, own in by_cpu.items()), True)
        for at in range(0, max(map(len, by_cpu.values())), PASS_PAGES)
    ]
    return Material(pages, batches, sum(count(page, header) for page in pages))


def against_trace_cmd(*works: Callable[[], object]) -> list[Spread]:
    """Seconds of `trace-cmd report` on a trace.dat of the same pages, then those of the works."""
    by_cpu = {cpu: pages_of(cpu, REPEAT) for cpu in captured(KERNEL, "my").raw}
    with tempfile.TemporaryDirectory() as folder:
        trace = trace_dat(Path(folder), by_cpu)
        command = ["trace-cmd", "report", "-i", str(trace)]
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        lines = said.count(b"\n")
        assert lines >= material().events, f"trace-cmd printed {lines} lines for {material().events} events"
        theirs = child_timer(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return interleaved(theirs, *map(cpu_timer, works))


def rate(seconds: Spread) -> Spread:
    """Millions of events a second."""
    return seconds.each(lambda taken: material().events / taken / 1e6)


def beside(figure: Figure, work: Callable[[], object]) -> list[Row]:
    """The row of one work."""
    if not shutil.which("trace-cmd"):
        return [figure.missing("trace-cmd is not installed")]
    report, own = against_trace_cmd(work)
    return [ratio(figure, report, own)]


def ratio(figure: Figure, report: Spread, own: Spread) -> Row:
    speeds = f"{rate(own).median:.2f} M events/s beside {rate(report).median:.2f}"
    return figure.of(report.over(own), speeds)


def columns() -> list[Row]:
    """The whole way from pages to arrays, and its two parts."""
    if not shutil.which("trace-cmd"):
        return [figure.missing("trace-cmd is not installed") for figure in (COLUMNS, TAKING_IN, TO_ARRAYS)]
    taken_in = filled()
    assert taken_in.next_seq == material().events
    report, whole, taking_in, to_arrays = against_trace_cmd(
        lambda: columns_of(filled()), filled, lambda: columns_of(taken_in)
    )
    return [ratio(COLUMNS, report, whole), TAKING_IN.of(rate(taking_in)), TO_ARRAYS.of(rate(to_arrays))]


def filled() -> Store:
    """A new store that has taken all pages in."""
    store = Store(captured(KERNEL, "my").decoder, 1 << 40)
    for batch in material().batches:
        store.feed(batch)
    store.flush()
    return store


def values() -> list[Row]:
    decoder = captured(KERNEL, "my").decoder
    return beside(VALUES, lambda: sum(len(decoder.page(page)) for page in material().pages))


def walk() -> list[Row]:
    header = captured(KERNEL, "my").decoder.header
    return beside(COUNT, lambda: sum(count(page, header) for page in material().pages))


def columns_of(store: Store) -> int:
    """All that is a number of all events, as arrays; gives how many numbers."""
    numbers = 0
    for start in range(store.first_seq, store.next_seq, PIECE):
        for table in store.columns(start, start + PIECE).tables.values():
            own = [table.column(field).values for field in table.layout.format.fields if is_number(field)]
            numbers += sum(map(len, [table.seqs, table.stamps, table.cpus, table.pids, *own]))
    return numbers


def trace_dat(folder: Path, by_cpu: dict[int, list[bytes]]) -> Path:
    """A trace.dat made by `trace-cmd restore` from raw pages and the files that trace-cmd wants of tracefs."""
    files, tracing = archive("ringbuf.tar.xz"), folder / "tracing"
    for name, data in files.items():
        if name.startswith(f"{KERNEL}/formats/"):
            path = tracing / "events" / name.removeprefix(f"{KERNEL}/formats/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    (tracing / "events/header_page").write_bytes(files[f"{KERNEL}/header_page"])
    (tracing / "events/header_event").write_text(HEADER_EVENT)
    (tracing / "printk_formats").write_text("")
    (tracing / "saved_cmdlines").write_bytes(files[f"{KERNEL}/my/saved_cmdlines"])
    (folder / "kallsyms").write_bytes(files[f"{KERNEL}/kallsyms"])
    names = []
    for cpu, pages in sorted(by_cpu.items()):
        names.append(folder / f"cpu{cpu}")
        names[-1].write_bytes(b"".join(pages))
    head, trace = folder / "head.dat", folder / "trace.dat"
    make_head = ["trace-cmd", "restore", "-c", "-t", str(tracing), "-k", str(folder / "kallsyms"), "-o", str(head)]
    subprocess.run(make_head, check=True, capture_output=True)
    make = ["trace-cmd", "restore", "-i", str(head), "-o", str(trace), *map(str, names)]
    subprocess.run(make, check=True, capture_output=True)
    return trace


def passes() -> Iterator[Batch]:
    """Bytes as a pump gives them at each tick at RATE, two CPUs."""
    header = captured(KERNEL, "my").decoder.header
    once = pages_of(0, 1)
    per_page = sum(count(page, header) for page in once) / len(once)
    a_tick = round(RATE / TICKS / per_page / 2)
    pages = round(a_tick * TICKS * SECONDS)
    own = [pages_of(cpu, pages // len(once) + 1) for cpu in (0, 1)]
    for at in range(0, pages, a_tick):
        yield Batch(tuple(Chunk(cpu, b"".join(pages[at : at + a_tick])) for cpu, pages in enumerate(own)), True)


def at_rate() -> list[Row]:
    """Share, longest tick and bytes of each round: the median is that of five longest ticks."""
    batches = list(passes())
    rounds = [store_at_rate(batches) for _ in range(ROUNDS)]
    shares, longest, kept = (Spread(column) for column in zip(*rounds, strict=True))
    return [SHARE.of(shares), LONGEST.of(longest), KEPT.of(kept)]


def store_at_rate(batches: list[Batch]) -> tuple[float, float, float]:
    """Feed a store and read a screenful of records at each tick; CPU in per cent, milliseconds, KiB."""
    store = Store(captured(KERNEL, "my").decoder, STORE_BYTES)
    ticks = []
    for batch in batches:
        began = time.process_time_ns()
        store.feed(batch)
        for seq in range(max(store.first_seq, store.next_seq - SCREEN), store.next_seq):
            plain_text(store.record(seq))
        ticks.append((time.process_time_ns() - began) / 1e6)
    store.flush()
    assert store.first_seq, "nothing was dropped"
    return sum(ticks) / 1e3 / SECONDS * 100, max(ticks), store.bytes / 1024


PARTS = (
    Part("columns", (COLUMNS, TAKING_IN, TO_ARRAYS), columns),
    Part("values", (VALUES,), values),
    Part("count", (COUNT,), walk),
    Part("rate", (SHARE, LONGEST, KEPT), at_rate),
)
