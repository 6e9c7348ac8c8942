"""How far another machine's clock is from ours, and how sure that is.

Whoever reads a far clock knows when he asked and when the answer came: it was read somewhere between the two. Half of
the round trip is the best guess for when, and the other half is what it may be wrong by. Of several readings the one
counts that is surest now: an old one becomes less sure, as quartzes differ.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DRIFT_PPM = 500
"""How much faster or slower a clock may run: what adjtimex(2) does at most to CLOCK_MONOTONIC (MAXFREQ,
include/linux/timex.h)."""
_KEPT = 64


class ClockReading(NamedTuple):
    """One look at a far clock; all in nanoseconds."""

    before: int
    """Our clock when it was asked for."""
    far: int
    """What the far clock said, at most `resolution` ago by itself."""
    after: int
    """Our clock when the answer was there."""
    resolution: int = 0
    """The far clock says nothing smaller."""


class ClockOffset(NamedTuple):
    """What has to be added to a far time stamp to have it on our clock; nanoseconds."""

    ns: int
    uncertainty: int
    """It is no farther from the truth than this, as long as neither clock is set."""

    @property
    def sureness(self) -> str:
        """`±0.41 ms`."""
        micros = -(-self.uncertainty // 1000)
        if micros < 1000:
            return f"±{micros} µs"
        return f"±{micros / 1e3:.2f} ms" if micros < 1_000_000 else f"±{micros / 1e6:.2f} s"


def offset_of(reading: ClockReading) -> ClockOffset:
    """What one reading says."""
    before, far, after, resolution = reading
    # Twice all, so that nothing is lost by halving: it was read from `before` to `after`, up to `resolution` later.
    least, most = before - far - resolution, after - far
    return ClockOffset((least + most) // 2, (most - least + 1) // 2 + 1)


class Clock:
    """The offset of one far clock, from readings that come now and then. Any thread may ask."""

    def __init__(self) -> None:
        self._readings: deque[tuple[int, ClockOffset]] = deque(maxlen=_KEPT)

    def add(self, readings: Sequence[ClockReading]) -> None:
        """Take readings."""
        for reading in readings:
            if reading.after >= reading.before:
                self._readings.append((reading.before, offset_of(reading)))

    def offset(self, now: int) -> ClockOffset | None:
        """What is surest at a time of our clock, in nanoseconds; None: nothing was read yet."""
        aged = [_aged(offset, max(0, now - at)) for at, offset in tuple(self._readings)]
        return min(aged, key=lambda offset: offset.uncertainty, default=None)


def _aged(offset: ClockOffset, age: int) -> ClockOffset:
    return ClockOffset(offset.ns, offset.uncertainty - (-age * DRIFT_PPM // 1_000_000))


class ClockTimeline:
    """Far time stamps on our clock; a better offset never turns the order of one machine's events."""

    def __init__(self) -> None:
        self._far = -(1 << 62)
        self._near = -(1 << 62)

    @property
    def latest(self) -> int:
        """Of the youngest event, on our clock; very small: there was none."""
        return self._near

    def near(self, stamps: NDArray[np.int64], offset: int, now: int) -> NDArray[np.int64]:
        """The times of events on our clock: none after `now`, for then it was here already."""
        near: NDArray[np.int64] = stamps + np.int64(offset)
        near = np.where(stamps >= self._far, np.maximum(near, self._near), near)
        near = np.minimum(near, np.int64(now))
        if len(stamps):
            latest = int(stamps.argmax())
            if stamps[latest] >= self._far:
                self._far, self._near = int(stamps[latest]), int(near[latest])
        return near
