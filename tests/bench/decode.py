"""Events: pages to values and counts against trace-cmd report, and the store at 100,000 events a second."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from events.batch import Batch, Chunk
from events.columns import PIECE, is_number
from events.search import plain_text
from events.store import Store
from events.subbuffer import count
from tests.events_data import archive, captured

Row = tuple[str, str, str, bool]

KERNEL = "7.2"
REPEAT = 300
ROUNDS = 3
RATE = 100_000
SECONDS = 5
TICKS = 20
"""A second; as often as the screen looks."""
PASS_PAGES = 256
"""Sub-buffers of a CPU in a pass of the large store."""
SCREEN = 40
"""Rows that are painted at each tick."""
STORE_BYTES = 16 << 20
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


def run() -> list[Row]:
    """Measure; gives (what, figure, bound, whether it holds)."""
    return [*against_trace_cmd(), *store_at_rate()]


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


def against_trace_cmd() -> list[Row]:
    """CPU time of `trace-cmd report` on a trace.dat of the same pages, and ours, in turn."""
    if not shutil.which("trace-cmd"):
        return [("decode to values", "trace-cmd is not installed", ">= 2 x trace-cmd report", False)]
    taken = captured(KERNEL, "my")
    header, decoder = taken.decoder.header, taken.decoder
    by_cpu = {cpu: pages_of(cpu, REPEAT) for cpu in taken.raw}
    pages = [page for own in by_cpu.values() for page in own]
    events = sum(count(page, header) for page in pages)
    assert sum(len(decoder.page(page)) for page in pages) == events

    store = Store(decoder, 1 << 40)
    for at in range(0, max(map(len, by_cpu.values())), PASS_PAGES):
        chunks = tuple(Chunk(cpu, b"".join(own[at : at + PASS_PAGES])) for cpu, own in by_cpu.items())
        store.feed(Batch(chunks, True))
    store.flush()
    assert store.next_seq == events

    with tempfile.TemporaryDirectory() as folder:
        trace = trace_dat(Path(folder), by_cpu)
        lines = report(trace, capture=True)
        assert lines >= events, f"trace-cmd printed {lines} lines for {events} events"
        report_s, columns_s, values_s, count_s = alternately(
            lambda: report(trace),
            lambda: columns_of(store),
            lambda: sum(len(decoder.page(page)) for page in pages),
            lambda: sum(count(page, header) for page in pages),
        )
    values, counts, columns = report_s / values_s, report_s / count_s, report_s / columns_s
    return [
        ("trace-cmd report, the peer", f"{events / report_s / 1e6:.2f} M events/s", "", True),
        (
            "decode to columns, every number of every event",
            f"{events / columns_s / 1e6:.1f} M/s, {columns:.1f} x",
            ">= 10 x trace-cmd report",
            columns >= 10,
        ),
        (
            "decode to values",
            f"{events / values_s / 1e6:.2f} M/s, {values:.1f} x",
            ">= 2 x trace-cmd report",
            values >= 2,
        ),
        ("walk that only counts", f"{events / count_s / 1e6:.1f} M/s, {counts:.1f} x", ">= 20 x", counts >= 20),
    ]


def columns_of(store: Store) -> int:
    """All that is a number of all events, as arrays; gives how many numbers."""
    numbers = 0
    for start in range(store.first_seq, store.next_seq, PIECE):
        for table in store.columns(start, start + PIECE).tables.values():
            own = [table.column(field).values for field in table.layout.format.fields if is_number(field)]
            numbers += sum(map(len, [table.seqs, table.stamps, table.cpus, table.pids, *own]))
    return numbers


def alternately(*calls: Callable[[], object]) -> list[float]:
    """Median CPU seconds of each call, its child included; the rounds interleaved: a busy machine is so for all."""
    taken: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, own in zip(calls, taken, strict=True):
            start = sum(os.times()[:4])
            call()
            own.append(sum(os.times()[:4]) - start)
    return [statistics.median(own) for own in taken]


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


def report(trace: Path, capture: bool = False) -> int:
    """Run `trace-cmd report`; gives the number of lines where they are wanted."""
    output = subprocess.PIPE if capture else subprocess.DEVNULL
    done = subprocess.run(
        ["trace-cmd", "report", "-i", str(trace)], check=True, stdout=output, stderr=subprocess.DEVNULL
    )
    return done.stdout.count(b"\n") if capture else 0


def passes() -> Iterator[Batch]:
    """What a pump gives at each tick at RATE, two CPUs."""
    header = captured(KERNEL, "my").decoder.header
    per_page = sum(count(page, header) for page in pages_of(0, 1)) / len(pages_of(0, 1))
    a_tick = round(RATE / TICKS / per_page / 2)
    repeat = a_tick * TICKS * SECONDS // len(pages_of(0, 1)) + 1
    own = [pages_of(cpu, repeat) for cpu in (0, 1)]
    for at in range(0, a_tick * TICKS * SECONDS, a_tick):
        yield Batch(tuple(Chunk(cpu, b"".join(pages[at : at + a_tick])) for cpu, pages in enumerate(own)), True)


def store_at_rate() -> list[Row]:
    """CPU time of feeding the store and reading a screenful of records at each tick."""
    store = Store(captured(KERNEL, "my").decoder, STORE_BYTES)
    batches = list(passes())
    ticks = []
    for batch in batches:
        start = time.process_time()
        store.feed(batch)
        for seq in range(max(store.first_seq, store.next_seq - SCREEN), store.next_seq):
            plain_text(store.record(seq))
        ticks.append(time.process_time() - start)
    store.flush()
    share = sum(ticks) / SECONDS * 100
    events, longest = store.next_seq, max(ticks) * 1000
    most = STORE_BYTES + (1 << 20)
    return [
        (
            f"store and {SCREEN} rows a tick at {events / SECONDS:,.0f} events/s",
            f"{share:.1f} % of a core",
            "<= 8 %",
            share <= 8,
        ),
        ("longest tick of it", f"{longest:.1f} ms", "<= 20 ms", longest <= 20),
        (
            "what the store kept",
            f"{len(store):,} of {events:,}, {store.bytes >> 10:,} KiB",
            f"<= {most >> 10:,} KiB",
            store.bytes <= most,
        ),
    ]
