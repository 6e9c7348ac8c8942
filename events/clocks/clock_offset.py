"""Estimate the offset between a remote host's clock and the local one, with its uncertainty.

The remote clock was read at some time between request and reply. Half of the round trip is the best estimate of that
time, and the other half is its maximum error. Of several readings, the one with the least uncertainty now is used: an
old reading becomes less certain, as oscillators drift.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DRIFT_PPM = 500
"""Maximum rate difference of a clock in parts per million: the limit of adjtimex(2) for CLOCK_MONOTONIC (MAXFREQ,
include/linux/timex.h)."""
_MAX_READINGS = 64


class ClockReading(NamedTuple):
    """Reading of a remote clock; all values in nanoseconds."""

    request_time: int
    """Local time of the request."""
    remote_time: int
    """Remote time, which was up to `resolution` behind when it was read."""
    answer_time: int
    """Local time of the reply."""
    resolution: int = 0
    """Granularity of the remote clock."""


class ClockOffset(NamedTuple):
    """Offset that converts a remote time stamp to the local clock; nanoseconds."""

    ns: int
    uncertainty: int
    """Maximum error of `ns`, as long as neither clock is set."""

    @property
    def uncertainty_text(self) -> str:
        """Uncertainty as text: `±0.41 ms`."""
        micros = -(-self.uncertainty // 1000)
        if micros < 1000:
            return f"±{micros} µs"
        return f"±{micros / 1e3:.2f} ms" if micros < 1_000_000 else f"±{micros / 1e6:.2f} s"


def offset_of(reading: ClockReading) -> ClockOffset:
    """Return the offset given by one reading."""
    request, remote, answer, resolution = reading
    # Doubled, so that halving loses no precision: the clock was read between request and answer, and was up to
    # `resolution` ahead of `remote`.
    least, most = request - remote - resolution, answer - remote
    return ClockOffset((least + most) // 2, (most - least + 1) // 2 + 1)


class Clock:
    """Offset of one remote clock, from occasional readings. Thread-safe."""

    def __init__(self) -> None:
        self._readings: deque[tuple[int, ClockOffset]] = deque(maxlen=_MAX_READINGS)

    def add(self, readings: Sequence[ClockReading]) -> None:
        """Add readings."""
        for reading in readings:
            if reading.answer_time >= reading.request_time:
                self._readings.append((reading.request_time, offset_of(reading)))

    def offset(self, now: int) -> ClockOffset | None:
        """Return the most certain offset at local time `now`, in nanoseconds; None: there are no readings."""
        aged = [_with_drift(offset, max(0, now - at)) for at, offset in tuple(self._readings)]
        return min(aged, key=lambda offset: offset.uncertainty, default=None)


def _with_drift(offset: ClockOffset, age: int) -> ClockOffset:
    return ClockOffset(offset.ns, offset.uncertainty - (-age * DRIFT_PPM // 1_000_000))


class ClockTimeline:
    """Mapping of remote time stamps to the local clock; an improved offset never reorders the events of one host."""

    def __init__(self) -> None:
        self._latest_remote = -(1 << 62)
        self._latest_local = -(1 << 62)

    @property
    def latest(self) -> int:
        """Local time of the latest event; very small before the first."""
        return self._latest_local

    def near(self, stamps: NDArray[np.int64], offset: int, now: int) -> NDArray[np.int64]:
        """Return the local times of events, limited to `now`, as the events have already arrived."""
        local: NDArray[np.int64] = stamps + np.int64(offset)
        local = np.where(stamps >= self._latest_remote, np.maximum(local, self._latest_local), local)
        local = np.minimum(local, np.int64(now))
        if len(stamps):
            latest = int(stamps.argmax())
            if stamps[latest] >= self._latest_remote:
                self._latest_remote, self._latest_local = int(stamps[latest]), int(local[latest])
        return local
