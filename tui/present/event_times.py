"""Times of events as they are shown: seconds of the kernel's clock, and beside them the time of day; no screen."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from events.kernel_time import microseconds, seconds
from widgets.events.times import Stamp, kernel_stamp

if TYPE_CHECKING:
    from events.clocks.clock_offset import Offset
    from kernel.watch.watch import Watch


class Face(enum.StrEnum):
    """Clock by which times are shown."""

    KERNEL = "kernel"
    LOCAL = "local"
    UTC = "utc"

    @property
    def after(self) -> Face:
        """The next one, as a key gives them."""
        faces = list(Face)
        return faces[(faces.index(self) + 1) % len(faces)]

    @property
    def words(self) -> str:
        """For people."""
        return {"kernel": "the kernel's seconds", "local": "local time of day", "utc": "time of day in UTC"}[self]


def wall_clock(ns: int, *, utc: bool = False) -> str:
    """Return `14:03:22.123456`, here or in UTC, of nanoseconds since 1970."""
    whole, rest = divmod(microseconds(ns), 1_000_000)
    return f"{time.strftime('%H:%M:%S', (time.gmtime if utc else time.localtime)(whole))}.{rest:06d}"


def wall_date(ns: int, *, utc: bool = False) -> str:
    """Return `2026-11-24 +0100`, the day and what local time is ahead of UTC by."""
    return time.strftime("%Y-%m-%d %z", (time.gmtime if utc else time.localtime)(microseconds(ns) // 1_000_000))


def stamp_of(seen: Callable[[], Watch | None], face: Face) -> Stamp:
    """Return what writes times of rows; where no time of day is known, the kernel's seconds alone.

    `seen` gives whose rows they are.
    """
    if face is Face.KERNEL:
        return kernel_stamp

    def text(ts: int, seq: int) -> str:
        return day_in_front(seen(), ts, seq, face) + seconds(ts)

    return text


def day_in_front(watching: Watch | None, ts: int, seq: int, face: Face) -> str:
    """Return `14:03:22.123456 `, to be printed in front of the kernel's seconds; empty: not wanted, or not known."""
    offset = offset_of_row(watching, ts, seq) if face is not Face.KERNEL else None
    return f"{wall_clock(ts + offset.ns, utc=face is Face.UTC)} " if offset is not None else ""


def offset_of_row(watching: Watch | None, ts: int, seq: int) -> Offset | None:
    """Return what to add to the time stamp of a row for nanoseconds since 1970; None: not known."""
    store = watching.store if watching is not None else None
    return watching.clock.offset(store, ts, seq) if watching is not None and store is not None else None


def day_of(watching: Watch, ts: int, seq: int, face: Face = Face.LOCAL) -> str:
    """Return the time of day of a row, what it may be wrong by, and the day, for its details; empty: not known."""
    offset = offset_of_row(watching, ts, seq)
    if offset is None:
        return ""
    ns, utc = ts + offset.ns, face is Face.UTC
    return f"{wall_clock(ns, utc=utc)} {offset.sureness}, {wall_date(ns, utc=utc)}"
