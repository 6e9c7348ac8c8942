"""Compute times of day of the events of one target: its trace clock is measured, or read from its recording."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from events.clocks.time_of_day import META_KEY, WallClock, boots_after
from kernel.session.protocol import AnySession
from kernel.target import Target

if TYPE_CHECKING:
    from events.clocks.clock_offset import ClockOffset
    from events.store.store import Store

_INTERVAL: Final = 10.0
"""Seconds between two measurements of the trace clock."""
_READINGS: Final = 3
"""Clock readings per measurement: the most precise one counts."""


class TimeOfDay:
    """Offsets of a trace clock from the local clock."""

    def __init__(self, target: Target) -> None:
        recording = target.recording
        self._wall = WallClock() if recording is None else WallClock.unpack(recording.meta.get(META_KEY))
        self._measure_at = 0.0
        """Time of the next measurement, by time.monotonic()."""

    @property
    def is_known(self) -> bool:
        """True if the time of day of some event is known."""
        return bool(self._wall)

    @property
    def meta(self) -> Mapping[str, Any]:
        """Offsets as values of a recording."""
        return {META_KEY: self._wall.pack()} if self._wall else {}

    def measure(self, session: AnySession | None) -> None:
        """Measure the clock, at most once every `_INTERVAL` seconds and after each disconnect. Raises TargetLost."""
        if session is None or (now := time.monotonic()) < self._measure_at:
            return
        from kernel.watch.clocks.readings import read_clock  # imported late, as it imports numpy

        self._measure_at = now + _INTERVAL
        self._wall.measured(read_clock(session, time.time_ns, _READINGS))

    def add_disconnect(self, *, booted: bool) -> None:
        """Take a disconnect that was read among the events: the machine may have slept or been rebooted."""
        self._measure_at = 0.0
        if booted:
            self._wall.booted()

    def offset(self, store: Store, ts: int, seq: int) -> ClockOffset | None:
        """Return the offset of a row's time stamp from nanoseconds since 1970, and its error; None: unknown."""
        return self._wall.offset(ts, boots_after(store.boots.starts, seq))
