"""Measure event rates without recording: the kernel counts hits by a hist trigger on a disabled event.

A trigger makes its event run in soft mode: the handler runs, the trigger counts, and no data enters the buffer
(trace_event_enable_disable in kernel/trace/trace_events.c). It works for every kind of event, where `kprobe_profile`
covers kprobes only, and it counts what `set_event_notrace_pid` lets through: calls of others, not ours.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Mapping, Sequence

from events.summary.hist_text import parse_hist, sections
from kernel.cleanup.owner import GROUP_PREFIX
from kernel.cleanup.undo import UndoList
from kernel.errors import FileRefused, KernelError
from kernel.guards.limits import MeasuredRate
from kernel.target import Step
from kernel.tracefs import Instance
from probes.plans.cost_estimate import EventRate
from probes.plans.plan import PlannedEvent

KEYS = "keys=common_cpu"
"""Key of the histogram: an entry for each CPU, so that CPUs do not contend."""
_OURS = re.compile(rf"hist:name={GROUP_PREFIX}\w+:{KEYS}(common_cpu)?:")
"""Pattern of our own triggers; Linux 6.16 to 7.3 print the key twice, as one word."""
_BY_FUNCTION = re.compile(rf"hist:name={GROUP_PREFIX}\w+:keys=__probe_(?:ip|func)\.sym:")
_MOST_MATCHED = 4096
"""Functions of a pattern, which the kernel matches, that are counted apart."""
LONGEST = 0.1
"""Longest measurement, in seconds."""
STEP = 0.05
"""Seconds between two readings."""
ENOUGH = 2_000
"""Hits that determine the rate well enough to end the measurement."""
QUICK = 0.01
"""Seconds within which an answer allows repeated readings."""
SLOW_LINE = 0.04
"""Longest answer time in seconds; a slower connection leaves no time to measure."""


class RateMeter:
    """Counter of hits of some events of one instance; each trigger's undo step is in the given list.

    Each histogram has a name: else the kernel would reject a second one with equal keys, which a user or another
    probe on the event may have created.
    """

    def __init__(
        self, instance: Instance, undo: UndoList, name: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Take the instance, the list for undo steps, and a name that no other meter has."""
        self._instance = instance
        self._undo = undo
        self._name = name
        self._clock = clock
        self._counted: dict[str, bool] = {}
        """Events with our trigger; True: a second one counts the hits that pass the filter."""
        self._by_function = ""
        """Event with a trigger that counts each function by itself; empty: none has one."""

    def start(self, events: Sequence[PlannedEvent], *, passing: bool = True) -> None:
        """Start counting. Raises FileRefused if the kernel has no hist triggers, TargetLost.

        Args:
            events: defined events.
            passing: True: also count the hits that pass an event's filter.
        """
        for number, event in enumerate(events):
            self._undo.do(*self._steps(event.path, f"hist:name={self._name}_hits{number}:{KEYS}"))
            self._counted[event.path] = False
            if passing and event.filter:
                text = f"hist:name={self._name}_passing{number}:{KEYS} if {event.filter}"
                self._undo.do(*self._steps(event.path, text))
                self._counted[event.path] = True

    def count_functions(self, event: PlannedEvent, functions: int) -> None:
        """Count the hits of an event on several functions by function, too. Raises FileRefused, TargetLost."""
        size = next((size for size in (2**bits for bits in range(11, 17)) if size >= functions), 1 << 17)
        text = f"hist:name={self._name}_functions:keys={event.function_address}.sym:size={size}"
        self._undo.do(*self._steps(event.path, text))
        self._by_function = event.path

    def calls(self, rate: float) -> dict[str, float]:
        """Return the calls a second of each function, the most frequent first; none are counted: an empty one.

        `rate`: hits a second of all of them. Raises FileRefused, TargetLost.
        """
        if not self._by_function:
            return {}
        hits = hits_by_function(self._instance.read(f"events/{self._by_function}/hist"))
        total = sum(hits.values())
        return {name: number * rate / total for name, number in sorted(hits.items(), key=lambda one: -one[1])}

    def read(self) -> dict[str, tuple[int, int]]:
        """Return hits, and those of them that pass the filter, by `group/event`. Raises FileRefused, TargetLost."""
        counts_by_path = {}
        for path, passing in self._counted.items():
            counts = hits_of(self._instance.read(f"events/{path}/hist"))
            counts_by_path[path] = (counts.get(False, 0), counts.get(passing, 0))
        return counts_by_path

    def measure(self, wait: Callable[[float], object] = time.sleep, *, patient: bool = False) -> MeasuredRate | None:
        """Read the counts twice or more within `LONGEST` seconds; None: that would take too long, or there is no
        result. `patient`: also over a slow connection.
        """
        begin = self._clock()
        started, first = self._timed_read()
        duration = self._clock() - begin
        if duration > SLOW_LINE and not patient:
            return None
        step = STEP if duration < QUICK else max(STEP, LONGEST - duration)
        end, latest, last = started + LONGEST - step / 2, started, first
        end = max(end, latest + step) if patient else end
        while latest < end and _max_hits(first, last) < ENOUGH:
            wait(step)
            latest, last = self._timed_read()
        seconds = latest - started
        if seconds <= 0 or not last:
            return None
        rates = {
            path: EventRate((hits - first[path][0]) / seconds, (passed - first[path][1]) / seconds)
            for path, (hits, passed) in last.items()
        }
        found = MeasuredRate(rates, seconds)
        if self._by_function:
            with contextlib.suppress(FileRefused):
                found = found._replace(by_function=self.calls(rates[self._by_function].hits))
        return found

    def _timed_read(self) -> tuple[float, Mapping[str, tuple[int, int]]]:
        """Return the time in the middle of the reading, and the counts."""
        start = self._clock()
        counts = self.read()
        return (start + self._clock()) / 2, counts

    def _steps(self, path: str, text: str) -> tuple[Step, Step]:
        return self._instance.trigger(path, text), self._instance.trigger(path, f"!{text}")


def measured(
    instance: Instance,
    events: Sequence[PlannedEvent],
    undo: UndoList,
    name: str,
    *,
    patient: bool = False,
    wait: Callable[[float], object] = time.sleep,
) -> MeasuredRate | None:
    """Measure the rate for a moment; None if impossible, which does not prevent arming. Raises TargetLost.

    `patient`: also over a slow connection; `wait`: sleeps, or raises what ends the measurement.

    The triggers stay until `undo` runs: an event that is enabled before that is not patched out of the kernel's code
    and in again.
    """
    meter = RateMeter(instance, undo, name)
    try:
        meter.start(events)
        several = next((event for event in events if event.function_field), None)
        if several is not None:
            with contextlib.suppress(FileRefused):  # then all together are counted
                meter.count_functions(several, max(len(several.lines), _MOST_MATCHED))
        return meter.measure(wait, patient=patient)
    except FileRefused:
        with contextlib.suppress(KernelError):
            undo.run()
        return None


def hits_by_function(text: str) -> dict[str, int]:
    """Return the hits of each function in our own histogram of an event's `hist` file."""
    hits: dict[str, int] = {}
    for found in parse_hist(text):
        if _BY_FUNCTION.match(found.trigger):
            for entry in found.entries:
                name = entry.keys[0].label.partition(" ")[0]
                hits[name] = hits.get(name, 0) + entry.hits
    return hits


def hits_of(text: str) -> dict[bool, int]:
    """Return the hits of our own histograms in an event's `hist` file: without a filter (False), with one (True).

    kernel/trace/trace_events_hist.c, hist_trigger_show; several histograms of one event follow each other.
    """
    hits: dict[bool, int] = {}
    for section in sections(text):
        if _OURS.match(section.trigger):
            hits.setdefault(" if " in section.trigger, section.totals[0])
    return hits


def _max_hits(first: Mapping[str, tuple[int, int]], last: Mapping[str, tuple[int, int]]) -> int:
    return max((hits - first[path][0] for path, (hits, _) in last.items()), default=ENOUGH)
