"""Plan the histograms that the kernel maintains for a probe's summary: triggers, and a synthetic event for latencies.

The kernel counts events without recording them. A latency is the time from the entry of a call to the next exit of
its task: the entry stores its timestamp by thread id, the exit fires a synthetic event with the difference, and a
histogram counts that event by powers of two (Documentation/trace/histogram.rst, inter-event). Reading a variable in
an expression clears it: for a recursive function only the innermost call has a latency. For a probe on several
functions, most calls would have none, or that of a call of another function: these are not timed. The idle tasks, one
for each CPU, all have the thread id 0: their calls can't be distinguished and have no latency.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from probes.hist.clause import Action, Assignment
from probes.hist.trigger import HistTrigger
from probes.plans.plan import Plan, PlannedEvent
from probes.rules.deletion import SYNTHETIC

LATENCY = "(latency)"
TASK = "(process)"
NO_IDLE = "calls of idle tasks are not timed: all have the thread id 0"
"""Note on the calls that the kernel's latencies leave out."""
INNERMOST = "of a function that calls itself, only the innermost calls are timed"
FIRST_NAMES = "processes have their names at the first hit, those before an exec that came later"
ONE_AFTER_ANOTHER = (
    "each table begins, and is read, a moment after another: their sums may differ by the calls of that time"
)
"""Note on tables of one probe that are shown as one."""
SEVERAL_FUNCTIONS = (
    "calls of several functions are not timed in the kernel, which can't tell calls within calls apart"
)
"""Reason why a probe on several functions has no latencies."""
_NOT_IDLE = "common_pid != 0"
_NAME = re.compile(r":name=([^:]+)")
_OWN = re.compile(r"\bpw_\d+_[0-9a-z]+(?:_\d+)?__\d+_")
"""Pattern for the prefix of names that sessions give to their histograms, synthetic events and variables."""
_ENTRIES = 16384
"""Entries of a histogram with an entry for each task or value; the kernel takes 80 bytes and more for each."""
_POWER_ENTRIES = 128
"""Least number of entries that a kernel allows; there are 65 powers of two."""
_NEGATIVE = 1 << 63
"""A difference of two stamps from there on is below zero: clocks of two CPUs differ, and the kernel's u64 wraps."""


class WatchedHistogram(NamedTuple):
    """Histogram that a summary reads."""

    subject: str
    """The probed function, tracepoint or event."""
    value: str
    """LATENCY, TASK, or the name of a field."""
    event: PlannedEvent
    trigger: str

    @property
    def is_task(self) -> bool:
        """True if the histogram counts by task, as there is for every recorded event."""
        return self.value == TASK


@dataclass(frozen=True, slots=True)
class HistogramTriggers:
    """Triggers and event for the histograms of a probe, in the order of writing."""

    synthetic: PlannedEvent | None
    """Synthetic event to create first; None: nothing is timed, for lack of an end of the call or of one function."""
    watched: tuple[WatchedHistogram, ...]
    """Triggers whose histograms are read."""
    timing: tuple[tuple[PlannedEvent, str], ...] = ()
    """Triggers that give the synthetic event its times."""


def plan_histograms(plan: Plan, name: str, clock: str, fields: tuple[tuple[str, str], ...] = ()) -> HistogramTriggers:
    """Plan the histograms of an armed probe.

    Each histogram has a name: otherwise the kernel rejects a second histogram with the same keys and values, which a
    person or another probe may have put on the event.

    Args:
        plan: the probe's plan.
        name: prefix of all names, unique to the probe; begins with the group of the session's events, which marks the
            synthetic event as ours.
        clock: the instance's clock; a trigger with times sets the clock and would change it otherwise.
        fields: fields whose values are counted, each as path of the event and name of the field.
    """
    subject = plan.probe.subject
    recorded = [event for event in plan.events if event.recorded]
    keys = [(TASK, event, "common_pid.execname") for event in recorded]
    for path, field in fields:
        keys += [
            (field, event, event.function_address if field == event.function_field else field)
            for event in recorded
            if event.path == path
        ]
    histograms = [
        WatchedHistogram(subject, name_or_kind, event, _hist(event, key, f"{name}_{number}"))
        for number, (name_or_kind, event, key) in enumerate(keys)
    ]
    ends = {event.at_exit: event for event in recorded if event.frame}
    if len(ends) < 2 or any(event.function_field for event in ends.values()):
        return HistogramTriggers(None, tuple(histograms))
    synthetic, timing = _timed(ends[False], ends[True], name, clock)
    powers = HistTrigger.of(
        ("lat.log2",), ("lat",), size=_POWER_ENTRIES, name=synthetic.event, filter=f"lat < {_NEGATIVE}"
    )
    latencies = WatchedHistogram(subject, LATENCY, synthetic, str(powers))
    return HistogramTriggers(synthetic, (*histograms, latencies), timing)


def _timed(
    entry: PlannedEvent, leave: PlannedEvent, name: str, clock: str
) -> tuple[PlannedEvent, tuple[tuple[PlannedEvent, str], ...]]:
    """Return the synthetic event with the latency of each call, and the triggers that give it its times."""
    event, begun, took = f"{name}_latency", f"{name}_begun", f"{name}_took"
    line, removal = f"s:{SYNTHETIC}/{event} u64 lat", f"-:{SYNTHETIC}/{event}"
    trace = Action(f"onmatch({entry.group}.{entry.event}).trace({event},${took})")
    difference = Assignment(took, f"common_timestamp-${begun}")
    return PlannedEvent(SYNTHETIC, event, line, removal, recorded=False), (
        (entry, _timing_trigger(entry, Assignment(begun, "common_timestamp"), clock)),
        (leave, _timing_trigger(leave, difference, clock, (trace,))),
    )


def untimed_patterns(watched: Iterable[WatchedHistogram]) -> list[str]:
    """Return the subjects of probes on several functions that would have latencies if they were on one."""
    return list(
        dict.fromkeys(one.subject for one in watched if one.is_task and one.event.frame and one.event.function_field)
    )


def notes_on(watched: Iterable[WatchedHistogram]) -> Iterator[str]:
    """Yield notes on the meaning of the counts, and on what is not counted."""
    watched = tuple(watched)
    if any(one.value == LATENCY for one in watched):
        yield NO_IDLE
        yield INNERMOST
    for subject in untimed_patterns(watched):
        yield f"{subject}: {SEVERAL_FUNCTIONS}; recorded events are, and so is one function"
    if any(one.is_task for one in watched):
        yield FIRST_NAMES
    if len(watched) > 1:
        yield ONE_AFTER_ANOTHER


def is_listed_as(listed: str, trigger: str) -> bool:
    """Return whether a trigger as the kernel lists it, with defaults, is the trigger that was written."""
    head, _, condition = trigger.partition(" if ")
    if name := _NAME.search(head):
        return listed.startswith(f"hist:name={name[1]}:")
    return listed.startswith(f"{head.partition(':size=')[0].partition(':vals=')[0]}:") and (
        listed.partition(" if ")[2] == condition
    )


def is_session_trigger(text: str) -> bool:
    """Return whether a session made a trigger for its own use."""
    return _OWN.search(text) is not None


def _hist(event: PlannedEvent, key: str, name: str) -> str:
    return str(HistTrigger.of((key,), size=_ENTRIES, filter=event.filter, name=name))


def _timing_trigger(event: PlannedEvent, variable: Assignment, clock: str, actions: tuple[Action, ...] = ()) -> str:
    condition = f"({event.filter}) && {_NOT_IDLE}" if event.filter else _NOT_IDLE
    trigger = HistTrigger.of(
        ("common_pid",), size=_ENTRIES, variables=(variable,), actions=actions, clock=clock, filter=condition
    )
    return str(trigger)
