"""Looks after what is armed: a probe that is too fast is stopped, and what was stopped is told once."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernel.cleanup.undo import UndoFailure
from kernel.errors import KernelError
from kernel.guards.loss_counts import LossCounts
from kernel.guards.storm_rates import StormGuard, WatchedProbe, look_at
from kernel.session.arm_steps import Mode
from kernel.session.session import Armed

if TYPE_CHECKING:
    from kernel.session.protocol import AnySession


@dataclass(frozen=True, slots=True)
class StoppedProbe:
    """A probe that was switched off because its events came too fast."""

    armed: Armed
    rate: float
    """Events a second."""
    limit: float
    failures: tuple[UndoFailure, ...] = ()
    """What could not be switched off."""

    @property
    def text(self) -> str:
        """One sentence."""
        name = self.armed.plan.probe.subject
        text = f"{name} was stopped: some {self.rate:,.0f} events a second, and {self.limit:,.0f} are allowed"
        return f"{text}; not all of it: {self.failures[0].error}" if self.failures else text


class StormWatcher:
    """One for a watch. `look` waits for the kernel; calls may come from any thread."""

    def __init__(self, limit: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the most events a second of one probe; 0: any number."""
        self._storms = StormGuard(limit)
        self._clock = clock
        self._lock = threading.Lock()
        self._untold: list[StoppedProbe] = []

    @property
    def limit(self) -> float:
        """Events a second of one probe."""
        return self._storms.limit

    @limit.setter
    def limit(self, limit: float) -> None:
        self._storms.limit = limit

    def look(
        self,
        session: AnySession,
        counts: LossCounts,
        seen: Mapping[str, int],
        switch: Callable[[Armed, Mode], object],
    ) -> None:
        """Compare with the last look, and switch off what is too fast, by `switch`.

        Args:
            session: says what is armed, and how.
            counts: of the session, now.
            seen: events by `group/event` that reached the store so far.
            switch: does it.
        """
        on = [armed for armed in session.armed if session.mode(armed) is not Mode.OFF]
        with self._lock:
            watched = [_watched(armed, session.mode(armed)) for armed in on]
            storms = self._storms.look(look_at(counts, seen, self._clock()), watched)
        for storm in storms:  # without the lock: the screen must not wait for the kernel
            failures: object = ()
            key = on[storm.number].key  # it may get another filter meanwhile, or go
            with contextlib.suppress(KernelError):  # a line that is gone is told by the pump
                failures = switch(on[storm.number], Mode.OFF)
            left = tuple(failures) if isinstance(failures, list) else ()
            now = next((one for one in session.armed if one.key is key), None)
            if now is not None and session.mode(now) is Mode.OFF:
                with self._lock:
                    self._untold.append(StoppedProbe(now, storm.rate, self.limit, left))

    def restart(self) -> None:
        """The store was emptied."""
        with self._lock:
            self._storms.restart()

    def take(self) -> list[StoppedProbe]:
        """What was stopped and nobody was told of yet."""
        with self._lock:
            untold, self._untold = self._untold, []
            return untold


def _watched(armed: Armed, mode: Mode) -> WatchedProbe:
    return WatchedProbe(frozenset(event.path for event in armed.plan.events), mode is Mode.COUNT)
