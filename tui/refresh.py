"""The rhythm of a watch: bytes wake it, a tick brings them to the screen, each second the kernel is asked for losses.

With nothing armed no timer runs.
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

if TYPE_CHECKING:
    from kernel.watch.watch import Watch

TICK = 0.1
"""Seconds from the arrival of data to its picture: at most ten a second."""
SLOWEST = 0.25
"""Seconds from data to its picture where pictures cost much."""
SHARE = 0.055
"""Of a core that the screen may take for ticks and pictures, as long as fewer of them would do."""
BUDGET = 0.010
"""Seconds of CPU time for the events of a tick, after which the screen has its turn."""
SOON = 0.01
"""Seconds to the next tick where one was not enough."""
COUNT_EVERY = 1.0
"""Seconds between two questions for losses and names."""


def pause_after(cost: float) -> float:
    """Seconds to the next tick after one that cost, with what it painted, so many seconds of CPU time."""
    return min(max(TICK, cost / SHARE), SLOWEST)


class RefreshLoop:
    """Drives one watch at a time."""

    def __init__(self, app: App[None], ticked: Callable[[], None], late: Callable[[], None]) -> None:
        """Take what is called on the screen's thread.

        Args:
            app: has the timers and the workers.
            ticked: after the store has grown, or the end came.
            late: each second in which the kernel owes an answer: rates go down, and a line may be frozen.
        """
        self._app = app
        self._ticked = ticked
        self._late = late
        self._watching: Watch | None = None
        self._tick_timer: Timer | None = None
        self._count_timer: Timer | None = None
        self._asking: Watch | None = None
        """Whose losses a worker asks for; one that is followed no more may keep its worker waiting."""
        self._fresh = False
        """Whether this watch has shown nothing yet."""
        self._shown = 0.0
        """Time of the last picture, in seconds."""
        self._spent = time.thread_time()
        """CPU time of the screen's thread up to the last tick, in seconds."""
        self._cost = 0.0
        """The same from the tick before to the last one: with the picture that it made."""

    def follow(self, watching: Watch | None) -> None:
        """Drive this watch from now on; None: nothing."""
        self._watching = watching
        self._stop_counting()
        self._fresh = True
        if watching is not None:
            watching.on_data = self._wake

    def _wake(self) -> None:
        """Called from the pump's thread."""
        self._app.post_message(DataArrived())

    def data_came(self) -> None:
        """A tick is due."""
        if self._tick_timer is None:
            behind = self._watching is not None and self._watching.behind
            self._tick_timer = self._app.set_timer(SOON if behind else pause_after(self._cost), self._tick)

    def _tick(self) -> None:
        self._tick_timer = None
        now = time.thread_time()
        self._spent, self._cost = now, now - self._spent
        watching = self._watching
        if watching is None or not self._app.screen_stack:  # the application ends
            return
        watching.tick(BUDGET)
        # Where one tick is not enough for what came, there is one picture of several.
        if not watching.behind or time.monotonic() - self._shown >= SLOWEST:
            self._show()
        if watching.unsettled:
            self.data_came()

    def _show(self) -> None:
        self._shown = time.monotonic()
        self._ticked()
        if self._fresh:
            # A live view stays as long as its watch: to walk through it at each collection would hold up pictures.
            self._fresh = False
            self._app.call_after_refresh(gc.freeze)

    def count(self) -> None:
        """Ask for losses and names now, and every second as long as something is armed and the line stands."""
        watching = self._watching
        if watching is None or watching.error is not None:
            self._stop_counting()
            return
        if self._asking is not watching:  # over a slow line an answer takes longer than a second
            self._asking = watching
            self._app.run_worker(lambda: self._ask(watching), thread=True, group="count")
        else:
            self._late()
        if not watching.live:
            self._stop_counting()
        elif self._count_timer is None:
            self._count_timer = self._app.set_interval(COUNT_EVERY, self.count)

    def _ask(self, watching: Watch) -> None:
        try:
            with contextlib.suppress(KernelError):  # a line that is gone is told once, by the pump
                watching.measure_clock()
                self._app.post_message(LossesCounted(watching, watching.counts(), watching.names()))
        finally:
            if self._asking is watching:
                self._asking = None

    def _stop_counting(self) -> None:
        if self._count_timer is not None:
            self._count_timer.stop()
            self._count_timer = None
