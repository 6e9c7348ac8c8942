"""Build the outage of a connection that is never restored: it lasts to the end of the command or recording."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from events.store.outage_mark import Outage
from kernel.target import Target

if TYPE_CHECKING:
    from events.clocks.clock_offset import ClockOffset  # which has numpy with it


def final_outage(target: Target, latest: int, offset: ClockOffset | None, now: int) -> Outage:
    """Return the outage from the last data on, without an end.

    Args:
        target: target whose connection was lost.
        latest: time of its last event, in nanoseconds of the kernel's trace clock; 0 or less: there was none.
        offset: last known offset of that clock; None: unknown.
        now: present time in nanoseconds, of the clock that the offset leads to.
    """
    last_heard = getattr(target, "last_received", None)
    if last_heard is None:  # not remote
        return Outage.lasting(0.0)._replace(lost=max(latest, 0) or None)
    gone = max(0.0, time.monotonic() - last_heard)
    heard = int(now - gone * 1e9) - offset.ns - offset.uncertainty if offset is not None else 0
    return Outage.lasting(gone)._replace(lost=max(latest, heard, 0) or None)
