"""Pause a trace instance (tracing_on=0) around operations that empty its ring buffer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator

from kernel.errors import FileRefused, KernelError
from kernel.guards.loss_counts import LossCounter
from kernel.pump import Pump
from kernel.target import Target
from kernel.tracefs import Instance


def have_timestamps(triggers: Iterable[str]) -> bool:
    """Return whether one of some triggers has time stamps, so that adding it needs a pause."""
    return any("common_timestamp" in text for text in triggers)


class TracingPause:
    """Pause of one instance.

    A trigger with time stamps sets the clock of the instance to its own (`global` by default), which empties the
    buffer of all probes and its counts (tracing_set_clock). Such a trigger works with any clock, so our clock is set
    again.
    """

    def __init__(self, target: Target, instance: Instance, pump: Pump, losses: LossCounter) -> None:
        self._target = target
        self._instance = instance
        self._pump = pump
        self._losses = losses
        self._paused = False
        self._clock_before = ""
        """Clock before the pause."""

    @property
    def is_paused(self) -> bool:
        """True between `begin` and `end`."""
        return self._paused

    def read_all(self) -> None:
        """Make the pump read the present content of the buffer, and read the loss counts."""
        self._pump.settle()
        self.look()

    def look(self) -> None:
        """Read the loss counts: a restart at zero is noticed only while they are smaller than before."""
        with contextlib.suppress(KernelError):
            self._losses.look()

    def around(self, triggers: Iterable[str]) -> contextlib.AbstractContextManager[None]:
        """Return a context for adding triggers: `hold` if one of them has time stamps."""
        return self.hold() if have_timestamps(triggers) else contextlib.nullcontext()

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Record no events inside; events recorded before are read first. Raises FileRefused, TargetLost."""
        if self._paused:
            yield
            return
        self.begin()
        try:
            self.read_all()
            yield
        finally:
            self.end()

    def begin(self) -> None:
        """Record no events until `end`. Raises FileRefused, TargetLost."""
        self._clock_before = self._clock()
        self._target.perform(self._instance.write("tracing_on", "0"))
        self._paused = True

    def end(self, just_before: Callable[[], object] = lambda: None) -> None:
        """Resume recording if paused, for all enabled events at once.

        `just_before` is called when only one step is left. Raises FileRefused, TargetLost.
        """
        if not self._paused:
            return
        self._paused = False
        if self._clock_before and self._clock() != self._clock_before:
            self._target.perform(self._instance.write("trace_clock", self._clock_before))
        self.look()
        just_before()
        self._target.perform(self._instance.write("tracing_on", "1"))

    def _clock(self) -> str:
        """Return the trace clock, the one in brackets; empty: this kernel does not print it."""
        with contextlib.suppress(FileRefused):
            return self._instance.read("trace_clock").partition("[")[2].partition("]")[0]
        return ""
