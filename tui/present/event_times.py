"""Format times of events: seconds of the kernel's clock, and the time of day in front. Imports no screen code."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from events.kernel_time import microseconds, seconds
from widgets.events.times import Stamp, kernel_stamp

if TYPE_CHECKING:
    from events.clocks.clock_offset import ClockOffset
    from kernel.watch.watch import Watch


class ClockFace(enum.StrEnum):
    """Clock of the times on the screen."""

    KERNEL = "kernel"
    LOCAL = "local"
    UTC = "utc"

    @property
    def after(self) -> ClockFace:
        """Next clock in the order in which a key cycles through them."""
        faces = list(ClockFace)
        return faces[(faces.index(self) + 1) % len(faces)]

    @property
    def words(self) -> str:
        """Description for people."""
        return {"kernel": "the kernel's seconds", "local": "local time of day", "utc": "time of day in UTC"}[self]


def wall_clock(ns: int, *, utc: bool = False) -> str:
    """Return `14:03:22.123456`, local or UTC, for nanoseconds since 1970."""
    whole, rest = divmod(microseconds(ns), 1_000_000)
    return f"{time.strftime('%H:%M:%S', (time.gmtime if utc else time.localtime)(whole))}.{rest:06d}"


def wall_date(ns: int, *, utc: bool = False) -> str:
    """Return the day and the offset of local time from UTC: `2026-11-24 +0100`."""
    return time.strftime("%Y-%m-%d %z", (time.gmtime if utc else time.localtime)(microseconds(ns) // 1_000_000))


def stamp_of(watch_of_rows: Callable[[], Watch | None], face: ClockFace) -> Stamp:
    """Return a function that formats times of rows; only the kernel's seconds where no time of day is known.

    `seen` returns the watch of these rows.
    """
    if face is ClockFace.KERNEL:
        return kernel_stamp

    def text(ts: int, seq: int) -> str:
        return day_in_front(watch_of_rows(), ts, seq, face) + seconds(ts)

    return text


def exported_times(watch: Watch, ts: int, seq: int, face: ClockFace) -> dict[str, int]:
    """Return time of day and its uncertainty of a row for JSON; empty: by the kernel's clock, or they are unknown."""
    offset = offset_of_row(watch, ts, seq) if face is not ClockFace.KERNEL else None
    return {"time": ts + offset.ns, "uncertainty": offset.uncertainty} if offset else {}


def day_in_front(watch: Watch | None, ts: int, seq: int, face: ClockFace) -> str:
    """Return the time of day with a blank, `14:03:22.123456 `, to print before the kernel's seconds; empty: not
    wanted, or unknown.
    """
    offset = offset_of_row(watch, ts, seq) if face is not ClockFace.KERNEL else None
    return f"{wall_clock(ts + offset.ns, utc=face is ClockFace.UTC)} " if offset is not None else ""


def offset_of_row(watch: Watch | None, ts: int, seq: int) -> ClockOffset | None:
    """Return the offset from a row's time stamp to nanoseconds since 1970; None: unknown."""
    store = watch.store if watch is not None else None
    return watch.clock.offset(store, ts, seq) if watch is not None and store is not None else None


def day_of(watch: Watch, ts: int, seq: int, face: ClockFace = ClockFace.LOCAL) -> str:
    """Return time of day, uncertainty and day of a row, for its details; empty: unknown."""
    offset = offset_of_row(watch, ts, seq)
    if offset is None:
        return ""
    ns, utc = ts + offset.ns, face is ClockFace.UTC
    return f"{wall_clock(ns, utc=utc)} {offset.uncertainty_text}, {wall_date(ns, utc=utc)}"
