"""A moment in which an instance records nothing, for what empties its buffer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator

from kernel.errors import FileRefused, KernelError
from kernel.guards.loss_counts import LossCounter
from kernel.pump import Pump
from kernel.target import Target
from kernel.tracefs import Instance


class TracingPause:
    """Of one instance.

    A trigger with times sets the clock of the instance to its own (`global` where it says none), which empties the
    buffer of all probes and its counts (tracing_set_clock). Such a trigger takes any clock: ours is set again.
    """

    def __init__(self, target: Target, instance: Instance, pump: Pump, losses: LossCounter) -> None:
        self._target = target
        self._instance = instance
        self._pump = pump
        self._losses = losses
        self._on = False
        self._before = ""
        """Clock before recording was held."""

    def read_all(self) -> None:
        """Have the pump read what is in the buffer, and note the counts."""
        self._pump.settle()
        self.look()

    def look(self) -> None:
        """Note the counts: that they began anew only shows while they are smaller than before."""
        with contextlib.suppress(KernelError):
            self._losses.look()

    def around(self, triggers: Iterable[str]) -> contextlib.AbstractContextManager[None]:
        """While triggers are added: `hold` where one of them has times."""
        return self.hold() if any("common_timestamp" in text for text in triggers) else contextlib.nullcontext()

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Nothing is recorded inside; what was recorded is read before. Raises FileRefused, TargetLost."""
        if self._on:
            yield
            return
        self.begin()
        try:
            self.read_all()
            yield
        finally:
            self.end()

    def begin(self) -> None:
        """Record nothing until `end`. Raises FileRefused, TargetLost."""
        self._before = self._clock()
        self._target.perform(self._instance.write("tracing_on", "0"))
        self._on = True

    def end(self, just_before: Callable[[], object] = lambda: None) -> None:
        """Record what is on, all of it from one time on, where nothing was recorded.

        `just_before` is called when only one step is left. Raises FileRefused, TargetLost.
        """
        if not self._on:
            return
        self._on = False
        if self._before and self._clock() != self._before:
            self._target.perform(self._instance.write("trace_clock", self._before))
        self.look()
        just_before()
        self._target.perform(self._instance.write("tracing_on", "1"))

    def _clock(self) -> str:
        """The one in brackets; empty: this kernel does not say."""
        with contextlib.suppress(FileRefused):
            return self._instance.read("trace_clock").partition("[")[2].partition("]")[0]
        return ""
