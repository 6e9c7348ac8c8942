"""Stop armed probes whose events exceed the rate limit, and report each stopped probe once."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from events.loss_counts import LossCounts
from kernel.cleanup.undo import UndoFailure
from kernel.errors import KernelError
from kernel.guards.storm_rates import StormGuard, WatchedProbe, sample_rates
from kernel.session.armed import Armed
from kernel.session.probe_steps import Mode
from probes.command import short_subject

if TYPE_CHECKING:
    from kernel.session.protocol import AnySession


@dataclass(frozen=True, slots=True)
class StoppedProbe:
    """A probe that was disabled because its events came too fast."""

    armed: Armed
    rate: float
    """Events per second."""
    limit: float
    failures: tuple[UndoFailure, ...] = ()
    """Steps that failed to disable it."""

    @property
    def text(self) -> str:
        """Description in one sentence."""
        name = short_subject(self.armed.plan.probe)
        text = f"{name} was stopped: some {self.rate:,.0f} events a second, and {self.limit:,.0f} are allowed"
        return f"{text}; not all of it: {self.failures[0].error}" if self.failures else text


class StormWatcher:
    """Rate watcher of one watch. `look` waits for the kernel; any thread may call it."""

    def __init__(self, limit: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the most events per second of one probe; 0: unlimited."""
        self._storms = StormGuard(limit)
        self._clock = clock
        self._lock = threading.Lock()
        self._unreported: list[StoppedProbe] = []

    @property
    def limit(self) -> float:
        """Most events per second of one probe."""
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
        """Compare with the previous look, and disable probes that are too fast, by `switch`.

        Args:
            session: session of the armed probes.
            counts: present counts of the session.
            seen: events by `group/event` that reached the store so far.
            switch: changes a probe's mode.
        """
        enabled = [armed for armed in session.probes.armed if session.probes.mode(armed) is not Mode.OFF]
        with self._lock:
            probes = [_watched_probe(armed, session.probes.mode(armed)) for armed in enabled]
            storms = self._storms.look(sample_rates(counts, seen, self._clock()), probes)
        for storm in storms:  # without the lock: the screen must not wait for the kernel
            failures: object = ()
            key = enabled[storm.number].key  # it may get another filter meanwhile, or be disarmed
            with contextlib.suppress(KernelError):  # the pump reports a lost connection
                failures = switch(enabled[storm.number], Mode.OFF)
            undo_failures = tuple(failures) if isinstance(failures, list) else ()
            current = next((armed for armed in session.probes.armed if armed.key is key), None)
            if current is not None and session.probes.mode(current) is Mode.OFF:
                with self._lock:
                    self._unreported.append(StoppedProbe(current, storm.rate, self.limit, undo_failures))

    def restart(self) -> None:
        """Start a new comparison, as the store was emptied."""
        with self._lock:
            self._storms.restart()

    def take(self) -> list[StoppedProbe]:
        """Return the stopped probes that were not reported yet."""
        with self._lock:
            unreported, self._unreported = self._unreported, []
            return unreported


def _watched_probe(armed: Armed, mode: Mode) -> WatchedProbe:
    return WatchedProbe(frozenset(event.path for event in armed.plan.events), mode is Mode.COUNT)
