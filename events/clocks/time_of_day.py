"""Wall-clock times of the events of one kernel, by offsets of its trace clock that are measured now and then.

The trace clock stands still while a machine sleeps, and begins again with a boot: an offset holds from the time at
which it was measured until another one is found. A measurement that agrees with the one before changes nothing, so
that an event has one time for as long as it is shown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from events.clocks.clock_offset import ClockOffset, ClockReading

_LIMIT: Final = 1 << 62
_MOST: Final = 4096
"""Offsets that are kept of one boot: one in ten seconds, for eleven hours."""
_MOST_BOOTS: Final = 64
_AGREES: Final = 100_000
"""Nanoseconds that a clock may drift until another offset holds: part of the error of every time."""


class MeasuredOffset(NamedTuple):
    """An offset, and from when on it holds."""

    since: int
    """Nanoseconds of the trace clock."""
    offset: ClockOffset


class WallClock:
    """Belongs to the thread that reads the store; `measured` may be called by any other."""

    def __init__(self) -> None:
        self._boots: list[tuple[MeasuredOffset, ...]] = [()]
        """Offsets of each boot, the oldest first."""
        self._begun = 0
        """Boots whose events were read, but for the first."""

    def __bool__(self) -> bool:
        """Whether any time of day is known."""
        return any(self._boots)

    def booted(self) -> None:
        """Take note that the clock has begun again."""
        self._begun += 1
        while len(self._boots) <= self._begun:
            self._boots.append(())
        if len(self._boots) > _MOST_BOOTS:
            del self._boots[0]
            self._begun -= 1

    def measured(self, readings: Iterable[ClockReading]) -> None:
        """Take readings of the trace clock of the boot that runs, made one after the other."""
        from events.clocks.clock_offset import ClockOffset, offset_of  # numpy comes with it

        found = [(offset_of(one), one) for one in readings if one.after >= one.before]
        if not found:
            return
        offset, reading = min(found, key=lambda pair: pair[0].uncertainty)
        offset = ClockOffset(offset.ns, offset.uncertainty + _AGREES)
        known = self._boots[-1]
        room = offset.uncertainty + known[-1].offset.uncertainty - _AGREES if known else 0
        if known and abs(offset.ns - known[-1].offset.ns) < room:
            return
        since = reading.far if known else -_LIMIT
        self._boots[-1] = (*known[-(_MOST - 1) :], MeasuredOffset(since, offset))

    def offset(self, ts: int, boots_after: int = 0) -> ClockOffset | None:
        """Return what has to be added to a time stamp for nanoseconds since 1970; None: that was never measured.

        `boots_after`: how many boots came behind it, of those whose events were read.
        """
        at = self._begun - boots_after
        offsets = self._boots[at] if 0 <= at < len(self._boots) else ()
        found = bisect_right(offsets, ts, key=lambda one: one.since)
        return offsets[max(found - 1, 0)].offset if offsets else None

    def pack(self) -> list[list[list[int]]]:
        """Return the offsets as values for JSON: of each boot `[since, offset, uncertainty]`, in nanoseconds."""
        return [[[one.since, *one.offset] for one in offsets] for offsets in self._boots]

    @classmethod
    def unpack(cls, values: object) -> WallClock:
        """Read what `pack` made; what is none of it is left out."""
        made = cls()
        boots = values if isinstance(values, list) else []
        made._boots = [tuple(_measured(boot)) for boot in boots[:_MOST_BOOTS]] or [()]
        return made


def _measured(boot: object) -> Iterable[MeasuredOffset]:
    from events.clocks.clock_offset import ClockOffset

    for one in boot[:_MOST] if isinstance(boot, list) else ():
        if isinstance(one, list) and len(one) == 3 and all(type(n) is int and abs(n) <= _LIMIT for n in one):
            since, ns, uncertainty = one
            yield MeasuredOffset(since, ClockOffset(ns, abs(uncertainty)))


def boots_after(anew: Sequence[int], seq: int) -> int:
    """Return how many boots came behind a row, of a store whose clock began anew at some rows."""
    return sum(one > seq for one in anew)


KEY: Final = "clock"
"""Of the offsets in the meta values of a recording."""
