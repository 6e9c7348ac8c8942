"""Timers of a watch: data that arrives is shown in a tick, and each second the kernel is asked for losses.

With nothing armed no timer runs. One `TickTimer` paces the pictures of a watch, of the tracer, and of all hosts.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import App
from textual.timer import Timer

from kernel.errors import KernelError
from tui.messages import DataArrived, LossesCounted
from widgets.call_after import call_after

if TYPE_CHECKING:
    from kernel.watch.watch import Watch

TICK = 0.1
"""Seconds from the arrival of data to its picture: at most ten pictures a second."""
SLOWEST = 0.25
"""Seconds from data to its picture where pictures are expensive."""
SHARE = 0.055
"""Share of a core that the screen may take for ticks and pictures, as long as fewer of them would do."""
BUDGET = 0.010
"""Seconds of CPU time for the events of a tick, before the screen is updated."""
SOON = 0.01
"""Seconds to the next tick if one was not enough."""
COUNT_EVERY = 1.0
"""Seconds between two reads of losses and names."""
NAMES_SOON = 0.25
"""Seconds after one until the next where new rows are of tasks without a name."""


def pause_after(cost: float) -> float:
    """Return the seconds to the next tick after one that cost, with what it painted, so many seconds of CPU time."""
    return min(max(TICK, cost / SHARE), SLOWEST)


class TickTimer:
    """Calls a function soon after data arrived, the less often the more CPU time its pictures take."""

    def __init__(self, app: App[None], tick: Callable[[], None]) -> None:
        """Take the function; it is not called while the application ends."""
        self._app = app
        self._tick = tick
        self._timer: Timer | None = None
        self._spent = time.thread_time()
        """CPU time of the screen's thread up to the last tick, in seconds."""
        self._cost = 0.0
        """CPU time from the tick before to the last one, with the picture that it made, in seconds."""

    def due(self, *, soon: bool = False) -> None:
        """Call the tick after a pause; `soon`: data is left over from the last one, whatever its pictures cost."""
        if self._timer is None:
            self._timer = call_after(self._app, SOON if soon else pause_after(self._cost), self.run)

    def run(self) -> None:
        """Call the tick now."""
        self._timer = None
        now = time.thread_time()
        self._spent, self._cost = now, now - self._spent
        if self._app.screen_stack:
            self._tick()


class RefreshLoop:
    """The timers of one watch at a time."""

    def __init__(self, app: App[None], ticked: Callable[[], None], late: Callable[[], None]) -> None:
        """Set the functions to call on the screen's thread.

        Args:
            app: owner of the timers and workers.
            ticked: called after the store has grown, or the watch has ended.
            late: called each second while an answer of the kernel is overdue: rates fall, and the connection may
                hang.
        """
        self._app = app
        self._ticked = ticked
        self._late = late
        self._watch: Watch | None = None
        self.ticks = TickTimer(app, self._tick)
        self._count_timer: Timer | None = None
        self._watch_being_read: Watch | None = None
        """Watch whose losses a worker asks for; a worker may still wait for a watch that was left."""
        self._fresh = False
        """True until the first picture of this watch."""
        self._shown = 0.0
        """Time of the last picture, in seconds."""
        self._counted = 0.0
        """Time of the last read of losses and names, in seconds."""

    def follow(self, watch: Watch | None) -> None:
        """Drive this watch from now on; None: stop."""
        self._watch = watch
        self._stop_counting()
        self._fresh = True
        if watch is not None:
            watch.queue.on_data = self._wake

    def _wake(self) -> None:
        """Post `DataArrived`; the pump's thread calls."""
        self._app.post_message(DataArrived())

    def schedule_tick(self) -> None:
        """Call the next tick after a pause."""
        self.ticks.due(soon=self._watch is not None and self._watch.intake.has_backlog)

    def _tick(self) -> None:
        watch = self._watch
        if watch is None:
            return
        watch.tick(BUDGET)
        # If one tick is not enough for the new events, several ticks share one picture.
        if not watch.intake.has_backlog or time.monotonic() - self._shown >= SLOWEST:
            self._show()
        if watch.intake.unsettled:
            self.schedule_tick()

    def _show(self) -> None:
        self._shown = time.monotonic()
        self._ticked()
        if self._lacks_names():
            self.count()
        if self._fresh:
            # A live view stays as long as its watch: scanning it at each collection would delay pictures.
            self._fresh = False
            self._app.call_after_refresh(gc.freeze)

    def _lacks_names(self) -> bool:
        """Return True if new rows are of tasks whose names were not asked for yet, and some time has passed."""
        watch = self._watch
        if watch is None or watch.store is None or not watch.live or self._watch_being_read is watch:
            return False
        if time.monotonic() - self._counted < NAMES_SOON:
            return False
        return watch.intake.lacks_names()

    def count(self) -> None:
        """Read losses and names now, and every second while a probe is armed and connected."""
        watch = self._watch
        if watch is None or watch.error is not None:
            self._stop_counting()
            return
        self._counted = time.monotonic()
        if self._watch_being_read is not watch:  # over a slow connection an answer takes longer than a second
            self._watch_being_read = watch
            self._app.run_worker(lambda: self._read_losses(watch), thread=True, group="count")
        else:
            self._late()
        if not watch.live:
            self._stop_counting()
        elif self._count_timer is None:
            self._count_timer = self._app.set_interval(COUNT_EVERY, self.count)

    def _read_losses(self, watch: Watch) -> None:
        try:
            with contextlib.suppress(KernelError):  # the pump reports a lost connection once
                watch.measure_clock()
                self._app.post_message(LossesCounted(watch, watch.counts(), watch.names()))
        finally:
            if self._watch_being_read is watch:
                self._watch_being_read = None

    def _stop_counting(self) -> None:
        if self._count_timer is not None:
            self._count_timer.stop()
            self._count_timer = None
