"""How often events happen, counted by the kernel without one record: a hist trigger on an event that is off.

A trigger has its event run in soft mode: the handler runs, the trigger counts, and nothing goes into the buffer
(trace_event_enable_disable in kernel/trace/trace_events.c). It works for every kind of event, where `kprobe_profile`
knows kprobes only, and it counts what `set_event_notrace_pid` lets through: calls of others, not ours.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Mapping, Sequence

from events.summary.hist_text import sections
from kernel.cleanup.owner import GROUP_PREFIX
from kernel.cleanup.undo import UndoList
from kernel.errors import FileRefused, KernelError
from kernel.guards.limits import MeasuredRate
from kernel.target import Step
from kernel.tracefs import Instance
from probes.plans.cost_estimate import EventRate
from probes.plans.plan import PlannedEvent

KEYS = "keys=common_cpu"
"""An entry for each CPU, so that CPUs do not wait for each other's."""
_OURS = re.compile(rf"hist:name={GROUP_PREFIX}\w+:{KEYS}(common_cpu)?:")
"""Linux 6.16 to 7.3 print the key twice, as one word."""
LONGEST = 0.1
"""Seconds."""
STEP = 0.05
"""Seconds between two looks."""
ENOUGH = 2_000
"""Hits: the rate is known well enough, nobody need wait for more."""
QUICK = 0.01
"""Seconds that an answer may take where one asks again and again."""
SLOW_LINE = 0.04
"""Seconds that an answer may take; on a slower line there is no time to measure."""


class RateMeter:
    """Counts hits of some events of one instance; each trigger's way back is in the list it was given.

    Each histogram has a name: the kernel takes no second one with the same keys else, and a person may have put such
    a one there, or another probe on the same event.
    """

    def __init__(
        self, instance: Instance, undo: UndoList, name: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Take the instance, where the ways back go, and a name that no other meter has."""
        self._instance = instance
        self._undo = undo
        self._name = name
        self._clock = clock
        self._counted: dict[str, bool] = {}
        """Events with our trigger, and whether a second one counts what passes the filter."""

    def start(self, events: Sequence[PlannedEvent], *, passing: bool = True) -> None:
        """Count from now on. Raises FileRefused where the kernel has no hist triggers, TargetLost.

        Args:
            events: they are defined.
            passing: count what passes an event's filter beside all of its hits.
        """
        for number, event in enumerate(events):
            self._undo.do(*self._steps(event.path, f"hist:name={self._name}_hits{number}:{KEYS}"))
            self._counted[event.path] = False
            if passing and event.filter:
                text = f"hist:name={self._name}_passing{number}:{KEYS} if {event.filter}"
                self._undo.do(*self._steps(event.path, text))
                self._counted[event.path] = True

    def read(self) -> dict[str, tuple[int, int]]:
        """By `group/event`: hits, and of these the ones that pass. Raises FileRefused, TargetLost."""
        found = {}
        for path, passing in self._counted.items():
            counts = hits_of(self._instance.read(f"events/{path}/hist"))
            found[path] = (counts.get(False, 0), counts.get(passing, 0))
        return found

    def measure(self, wait: Callable[[float], object] = time.sleep) -> MeasuredRate | None:
        """Look twice or more, at most `LONGEST` apart; None: that would take too long, or nothing can be told."""
        asked = self._clock()
        began, first = self._look()
        took = self._clock() - asked
        if took > SLOW_LINE:
            return None
        step = STEP if took < QUICK else max(STEP, LONGEST - took)
        end, now, last = began + LONGEST - step / 2, began, first
        while now < end and _most(first, last) < ENOUGH:
            wait(step)
            now, last = self._look()
        seconds = now - began
        if seconds <= 0 or not last:
            return None
        rates = {
            path: EventRate((hits - first[path][0]) / seconds, (passed - first[path][1]) / seconds)
            for path, (hits, passed) in last.items()
        }
        return MeasuredRate(rates, seconds)

    def _look(self) -> tuple[float, Mapping[str, tuple[int, int]]]:
        """When, in the middle of the reading, and what."""
        began = self._clock()
        counts = self.read()
        return (began + self._clock()) / 2, counts

    def _steps(self, path: str, text: str) -> tuple[Step, Step]:
        return self._instance.trigger(path, text), self._instance.trigger(path, f"!{text}")


def measured(instance: Instance, events: Sequence[PlannedEvent], undo: UndoList, name: str) -> MeasuredRate | None:
    """Count for a moment; None where it can't be told, which is no reason not to arm. Raises TargetLost.

    The triggers stay until `undo` runs: an event that is switched on before that is not taken out of the kernel's
    code and put back in.
    """
    meter = RateMeter(instance, undo, name)
    try:
        meter.start(events)
        return meter.measure()
    except FileRefused:
        with contextlib.suppress(KernelError):
            undo.run()
        return None


def hits_of(text: str) -> dict[bool, int]:
    """Hits in an event's `hist` file of our own histograms: without a filter (False), with one (True).

    kernel/trace/trace_events_hist.c, hist_trigger_show; several histograms of one event stand one after the other.
    """
    found: dict[bool, int] = {}
    for one in sections(text):
        if _OURS.match(one.trigger):
            found.setdefault(" if " in one.trigger, one.totals[0])
    return found


def _most(first: Mapping[str, tuple[int, int]], last: Mapping[str, tuple[int, int]]) -> int:
    return max((hits - first[path][0] for path, (hits, _) in last.items()), default=ENOUGH)
