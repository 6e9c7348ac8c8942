"""The gap that begins where a line was cut and is not made anew: it ends with the command, or with a recording."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from events.store.outage_mark import Outage
from kernel.target import Target

if TYPE_CHECKING:
    from events.clocks.clock_offset import ClockOffset  # which has numpy with it


def final_outage(target: Target, latest: int, offset: ClockOffset | None, now: int) -> Outage:
    """Return the gap, which has no end.

    Args:
        target: its line was cut.
        latest: when its last event was, in nanoseconds of the kernel's trace clock; not above 0: there was none.
        offset: of that clock, as it was known last; None: it never was.
        now: the clock that the offset leads to, in nanoseconds.
    """
    last_heard = getattr(target, "last_received", None)
    if last_heard is None:  # no far side
        return Outage.lasting(0.0)._replace(lost=max(latest, 0) or None)
    gone = max(0.0, time.monotonic() - last_heard)
    heard = int(now - gone * 1e9) - offset.ns - offset.uncertainty if offset is not None else 0
    return Outage.lasting(gone)._replace(lost=max(latest, heard, 0) or None)
