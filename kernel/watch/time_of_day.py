"""Times of day of the events of one target: its trace clock is measured, or stands in its recording."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from events.clocks.time_of_day import KEY, WallClock, boots_after
from kernel.recording.target import RecordingTarget
from kernel.session.protocol import AnySession
from kernel.target import Target

if TYPE_CHECKING:
    from events.clocks.clock_offset import ClockOffset
    from events.store.store import Store

_EVERY: Final = 10.0
"""Seconds between two looks at the trace clock."""
_READINGS: Final = 3
"""Of the clock at each: the surest one counts."""


class TimeOfDay:
    """Offsets of a trace clock from this machine's."""

    def __init__(self, target: Target) -> None:
        recording = target.recording if isinstance(target, RecordingTarget) else None
        self._wall = WallClock() if recording is None else WallClock.unpack(recording.meta.get(KEY))
        self._measure_at = 0.0
        """When it is to be measured again, by time.monotonic()."""

    @property
    def known(self) -> bool:
        """Whether a time of day of any event is known."""
        return bool(self._wall)

    @property
    def meta(self) -> Mapping[str, Any]:
        """Offsets as values of a recording."""
        return {KEY: self._wall.pack()} if self._wall else {}

    def measure(self, session: AnySession | None) -> None:
        """Measure it, at most once in `_EVERY` seconds and once after each cut of the line. Raises TargetLost."""
        if session is None or (now := time.monotonic()) < self._measure_at:
            return
        from kernel.hosts.clocks import read_clock  # and numpy

        self._measure_at = now + _EVERY
        self._wall.measured(read_clock(session, time.time_ns, _READINGS))

    def cut(self, *, booted: bool) -> None:
        """Take note of a cut of the line, read among the events: the machine may have slept, or booted."""
        self._measure_at = 0.0
        if booted:
            self._wall.booted()

    def offset(self, store: Store, ts: int, seq: int) -> ClockOffset | None:
        """Return what to add to a row's time stamp for nanoseconds since 1970, and its error; None: not known."""
        return self._wall.offset(ts, boots_after(store.anew, seq))
