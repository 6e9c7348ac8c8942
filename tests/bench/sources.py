"""Sources: a hit of a watchpoint beside one that is only counted, events of osnoise to columns beside a probe's."""

from __future__ import annotations

from events.batch import Batch
from events.store.store import Store
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.errors import LabError
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.session.protocol import AnySession
from kernel.watch.watch import Watch
from probes.command import parse_armable
from tests.bench._measure import ROUNDS, Figure, Part, Row, Spread, cpu_timer, interleaved
from tests.bench.decode import columns_of, filled, material
from tests.bench.hit import guest

HIT = Figure("watchpoint: hit with its event / hit that perf only counts", "x", most=2, digits=2)
DECODE = Figure("osnoise: events to columns, each / event of a probe", "x", most=1.5)

FILE, VARIABLE = "/proc/sys/kernel/panic_on_oops", "panic_on_oops"
STORES = f"""
import ctypes, os, struct, sys, time
cpu = max(os.sched_getaffinity(0))
os.sched_setaffinity(0, [cpu])
if sys.argv[1] == "counted":
    address = next(int(line.split()[0], 16) for line in open("/proc/kallsyms") if line.split()[2] == "{VARIABLE}")
    attributes = struct.pack("<IIQQQQQIIQQ", 5, 96, 0, 0, 0, 0, 0, 0, 2, address, 4)
    memory = ctypes.create_string_buffer(attributes, 96)
    call = ctypes.CDLL(None).syscall
    event = call(298, ctypes.byref(memory), *map(ctypes.c_int, (-1, cpu, -1)), ctypes.c_ulong(0))
file, write = os.open("{FILE}", os.O_WRONLY), os.pwrite
def once():
    start = time.perf_counter_ns()
    for _ in range(200):
        write(file, b"0", 0)
    return time.perf_counter_ns() - start
best = min(once() for _ in range(20))
if sys.argv[1] == "counted":
    assert int.from_bytes(os.read(event, 8), "little") == 4000
print(best / 200)
"""
"""Nanoseconds of a write of the variable, at best."""
MEANS = ("nothing", "events", "counted")
NOISE = "osnoise period=100ms runtime=90ms tolerance=1us"
NOISE_BYTES = 100_000


def watching(own: Guest) -> Watch:
    return Watch(Planner(KernelInfo(connect(own, own.kernel.release))))


def watchpoint() -> list[Row]:
    """Of the emulated processor of a guest, for which the exception alone takes a tenth of a millisecond."""
    try:
        own = guest("7.2")
    except LabError as error:
        return [HIT.missing(f"no lab guest: {error}")]
    watch = watching(own)
    try:
        rounds = [tuple(nanoseconds_of_store(own, watch, means) for means in MEANS) for _ in range(ROUNDS)]
    finally:
        watch.close()
        watch.planner.info.close()
    ours, theirs = (Spread(tuple(row[at] - row[0] for row in rounds)) for at in (1, 2))
    return [HIT.of(ours.over(theirs), f"{ours.median:,.0f} ns beside {theirs.median:,.0f}")]


def nanoseconds_of_store(own: Guest, watch: Watch, means: str) -> float:
    """Return the time of a write of the variable, by what is told of it."""
    loop = f"python3 -c '{STORES}' {means}"
    if means != "events":
        return float(own.run(loop))
    armed = watch.armed.arm(parse_armable(f"watchpoint at={VARIABLE}"), at_any_rate=True)
    try:
        taken = float(own.run(loop))
        watch.tick()
        assert watch.store is not None and watch.store.next_seq, "nothing was hit"
        return taken
    finally:
        watch.armed.disarm(armed)
        watch.tick()


def batches_of(session: AnySession) -> list[Batch]:
    """Return what a session reads until it has enough bytes."""
    batches: list[Batch] = []
    while sum(len(chunk.data) for batch in batches for chunk in batch.chunks) < NOISE_BYTES:
        session.pump.wait(0.1)
        batches += session.pump.drain()
    return batches


def osnoise() -> list[Row]:
    """Pages that a guest made, again and again, beside as many events of the capture."""
    try:
        own = guest("full")
    except LabError as error:
        return [DECODE.missing(f"no lab guest: {error}")]
    watch = watching(own)
    try:
        watch.armed.arm(parse_armable(NOISE), at_any_rate=True)
        watch.tick()
        assert watch.session is not None and watch.store is not None
        batches = batches_of(watch.session)
        decoder = watch.store.decoder
    finally:
        watch.close()
        watch.planner.info.close()
    once = Store(decoder, 1 << 40)
    for batch in batches:
        once.feed(batch)
    once.flush()
    events = once.next_seq
    rounds = material().events // events + 1

    def to_columns() -> int:
        own_store = Store(decoder, 1 << 40)
        for _ in range(rounds):
            for batch in batches:
                own_store.feed(batch)
        own_store.flush()
        return columns_of(own_store)

    ours, theirs = interleaved(cpu_timer(to_columns), cpu_timer(lambda: columns_of(filled())))
    ours = ours.each(lambda taken: taken / (rounds * events))
    theirs = theirs.each(lambda taken: taken / material().events)
    return [DECODE.of(ours.over(theirs), f"{ours.median * 1e9:,.0f} ns beside {theirs.median * 1e9:,.0f}")]


PARTS = (Part("watchpoint", (HIT,), watchpoint), Part("osnoise", (DECODE,), osnoise))
