"""Compute wall-clock times of one kernel's events, from offsets of its trace clock that are measured at intervals.

The trace clock stops while a machine is suspended, and is reset by a boot: an offset is valid from the time of its
measurement until the next offset. A measurement that agrees with the previous offset changes nothing, so that the
displayed time of an event does not change.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from events.clocks.clock_offset import ClockOffset, ClockReading

_LIMIT: Final = 1 << 62
_MAX_OFFSETS: Final = 4096
"""Maximum number of offsets stored per boot: at one per ten seconds, eleven hours."""
_MOST_BOOTS: Final = 64
_TOLERANCE_NS: Final = 100_000
"""Nanoseconds of drift until a new offset is used; part of the uncertainty of every time."""


class MeasuredOffset(NamedTuple):
    """Offset with the time from which on it is valid."""

    since: int
    """Nanoseconds of the trace clock."""
    offset: ClockOffset


class WallClock:
    """Wall-clock offsets by boot. Used by the thread that reads the store; any thread may call `measured`."""

    def __init__(self) -> None:
        self._boots: list[tuple[MeasuredOffset, ...]] = [()]
        """Offsets of each boot, the oldest boot first."""
        self._boots_read = 0
        """Number of boots, after the first, whose events have been read."""

    def __bool__(self) -> bool:
        """Return whether any offset is known."""
        return any(self._boots)

    def booted(self) -> None:
        """Note that the trace clock was reset by a boot."""
        self._boots_read += 1
        while len(self._boots) <= self._boots_read:
            self._boots.append(())
        if len(self._boots) > _MOST_BOOTS:
            del self._boots[0]
            self._boots_read -= 1

    def measured(self, readings: Iterable[ClockReading]) -> None:
        """Add consecutive readings of the current boot's trace clock."""
        from events.clocks.clock_offset import ClockOffset, offset_of  # imports numpy

        found = [(offset_of(item), item) for item in readings if item.answer_time >= item.request_time]
        if not found:
            return
        offset, reading = min(found, key=lambda pair: pair[0].uncertainty)
        offset = ClockOffset(offset.ns, offset.uncertainty + _TOLERANCE_NS)
        offsets = self._boots[-1]
        room = offset.uncertainty + offsets[-1].offset.uncertainty - _TOLERANCE_NS if offsets else 0
        if offsets and abs(offset.ns - offsets[-1].offset.ns) < room:
            return
        since = reading.remote_time if offsets else -_LIMIT
        self._boots[-1] = (*offsets[-(_MAX_OFFSETS - 1) :], MeasuredOffset(since, offset))

    def offset(self, ts: int, boots_after: int = 0) -> ClockOffset | None:
        """Return the offset from a time stamp to nanoseconds since 1970; None: never measured.

        `boots_after`: number of boots after the time stamp, among those whose events have been read.
        """
        at = self._boots_read - boots_after
        offsets = self._boots[at] if 0 <= at < len(self._boots) else ()
        found = bisect_right(offsets, ts, key=lambda measurement: measurement.since)
        return offsets[max(found - 1, 0)].offset if offsets else None

    def pack(self) -> list[list[list[int]]]:
        """Return the offsets as values for JSON: `[since, offset, uncertainty]` for each boot, in nanoseconds."""
        return [[[measurement.since, *measurement.offset] for measurement in offsets] for offsets in self._boots]

    @classmethod
    def unpack(cls, values: object) -> WallClock:
        """Parse the output of `pack`; malformed values are skipped."""
        clock = cls()
        boots = values if isinstance(values, list) else []
        clock._boots = [tuple(_parse_offsets(boot)) for boot in boots[:_MOST_BOOTS]] or [()]
        return clock


def _parse_offsets(boot: object) -> Iterable[MeasuredOffset]:
    from events.clocks.clock_offset import ClockOffset

    for item in boot[:_MAX_OFFSETS] if isinstance(boot, list) else ():
        if isinstance(item, list) and len(item) == 3 and all(type(n) is int and abs(n) <= _LIMIT for n in item):
            since, ns, uncertainty = item
            yield MeasuredOffset(since, ClockOffset(ns, abs(uncertainty)))


def boots_after(anew: Sequence[int], seq: int) -> int:
    """Return the number of boots after row `seq`, from the rows at which the store's clock was reset."""
    return sum(row > seq for row in anew)


META_KEY: Final = "clock"
"""Key of the offsets in the meta values of a recording."""
