"""Read the clock with which a remote ring buffer stamps its events.

`per_cpu/cpuN/stats` of our own instance ends in `now ts: 1234.567890`: that very clock, in microseconds, read without
side effects (tracing_stats_read, kernel/trace/trace.c; since Linux 2.6.38).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

from events.clocks.clock_offset import ClockReading
from kernel.errors import FileRefused
from kernel.session.session import Session
from kernel.target import Target
from kernel.tracefs import Instance

_NOW = re.compile(rb"^now ts:[ \t]*+(\d{1,20})\.(\d{6})[ \t]*+$", re.MULTILINE)
_MICROSECOND = 1000


def local_clock() -> Callable[[], int]:
    """Return a local clock: nanoseconds since 1970, set at this call and without jumps after it."""
    base = time.time_ns() - time.monotonic_ns()
    return lambda: base + time.monotonic_ns()


def read_clock(session: object, now: Callable[[], int], times: int) -> Iterator[ClockReading]:
    """Read the clock of a session several times; yields none if its clock does not count time. Raises TargetLost.

    Args:
        session: result of `kernel.session.start.open_session`; a recording has no clock.
        now: local clock.
        times: number of readings; the most precise one is that with the shortest round trip.
    """
    if isinstance(session, Session):
        yield from read_instance_clock(session.instance, now, times)


def read_instance_clock(instance: Instance, now: Callable[[], int], times: int) -> Iterator[ClockReading]:
    """Read the clock of a trace instance several times; yields none if it does not count time. Raises TargetLost."""
    path = _stats_of(instance)
    for _ in range(times if path else 0):
        reading = _read(instance.target, path, now)
        if reading is None:
            return
        yield reading


def _stats_of(instance: Instance) -> str:
    """Return the stats file of the first CPU with a buffer: a CPU that was never online has none; empty if there is
    none.
    """
    folder = instance.file("per_cpu")
    try:
        names = [name for name in instance.target.list(folder) if re.fullmatch(r"cpu\d+", name)]
    except FileRefused:
        return ""
    return f"{folder}/{min(names, key=lambda name: int(name[3:]))}/stats" if names else ""


def _read(target: Target, path: str, now: Callable[[], int]) -> ClockReading | None:
    before = now()
    try:
        text = target.read(path)
    except FileRefused:
        return None
    after = now()
    match = _NOW.search(text)
    if match is None:
        return None
    remote_ns = (int(match[1]) * 1_000_000 + int(match[2])) * _MICROSECOND
    return ClockReading(before, remote_ns, after, _MICROSECOND)
