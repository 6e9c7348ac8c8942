"""Histograms that a kernel keeps of a probe for its summary: the triggers, and the synthetic event for latencies.

Counted where they happen, events need not be recorded. A latency is the time from the entry of a call to the exit
that its task comes to next: the entry keeps its time under the thread id, the exit fires a synthetic event with the
difference, and that one has a histogram by powers of two (Documentation/trace/histogram.rst, inter-event). Reading a
variable in an expression uses it up: of a function that calls itself only the innermost call has a latency there.
The idle tasks, one for each CPU, all have the thread id 0: calls of theirs can't be told apart and have no latency.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from probes.hist.clause import Action, Assignment
from probes.hist.trigger import HistTrigger
from probes.plans.plan import Plan, PlannedEvent
from probes.rules.deletion import SYNTHETIC

LATENCY = "(latency)"
TASK = "(process)"
NO_IDLE = "calls of idle tasks are not timed: all have the thread id 0"
"""What a latency of the kernel's leaves out."""
_OF_A_TASK = "common_pid != 0"
_NAME = re.compile(r":name=([^:]+)")
_OWN = re.compile(r"\bpw_\d+_[0-9a-z]+(?:_\d+)?__\d+_")
"""Begin of the names that sessions give to their histograms, synthetic events and variables."""
_ROOM = 16384
"""Entries of a histogram that has one for each task or value; the kernel takes 80 bytes each and more."""
_POWERS = 128
"""The least that a kernel has room for; there are 65 powers."""


class WatchedHistogram(NamedTuple):
    """One histogram to look at."""

    subject: str
    """What the probe sits on."""
    what: str
    """LATENCY, TASK, or the name of a field."""
    event: PlannedEvent
    trigger: str

    @property
    def is_task(self) -> bool:
        """Whether it counts who it was: every event that is recorded has such a one."""
        return self.what == TASK


@dataclass(frozen=True, slots=True)
class HistogramTriggers:
    """What is written for the histograms of one probe, in this order."""

    synthetic: PlannedEvent | None
    """To be made first; None: the probe has no two ends, so nothing is timed."""
    kept: tuple[WatchedHistogram, ...]
    """The triggers to look at."""
    timing: tuple[tuple[PlannedEvent, str], ...] = ()
    """The triggers that tell the synthetic event the times."""


def keeping(plan: Plan, name: str, clock: str, fields: tuple[tuple[str, str], ...] = ()) -> HistogramTriggers:
    """Plan the histograms of an armed probe.

    Each has a name: the kernel takes no second histogram with the same keys and values else, and a person may have
    put one there, or another probe on the same event.

    Args:
        plan: of the probe.
        name: begin of all names, which no other probe has; it begins with the group of the session's events, so that
            the synthetic event is known for ours.
        clock: of the instance: a trigger with times sets it, and would set another one.
        fields: path of an event and name of a field, of values to count.
    """
    subject = plan.probe.subject
    recorded = [event for event in plan.events if event.recorded]
    wanted = [(TASK, event, "common_pid.execname") for event in recorded]
    for path, field in fields:
        wanted += [(field, event, field) for event in recorded if event.path == path]
    kept = [
        WatchedHistogram(subject, what, event, _hist(event, key, f"{name}_{number}"))
        for number, (what, event, key) in enumerate(wanted)
    ]
    ends = {event.at_exit: event for event in recorded if event.frame}
    if len(ends) < 2:
        return HistogramTriggers(None, tuple(kept))
    timed, begun, took = f"{name}_latency", f"{name}_begun", f"{name}_took"
    synthetic = PlannedEvent(
        SYNTHETIC, timed, f"s:{SYNTHETIC}/{timed} u64 lat", f"-:{SYNTHETIC}/{timed}", recorded=False
    )
    timing = (
        (ends[False], _timed(ends[False], Assignment(begun, "common_timestamp"), clock)),
        (
            ends[True],
            _timed(
                ends[True],
                Assignment(took, f"common_timestamp-${begun}"),
                clock,
                (Action(f"onmatch({ends[False].group}.{ends[False].event}).trace({timed},${took})"),),
            ),
        ),
    )
    powers = HistTrigger.of(("lat.log2",), ("lat",), size=_POWERS, name=timed)
    return HistogramTriggers(synthetic, (*kept, WatchedHistogram(subject, LATENCY, synthetic, str(powers))), timing)


def is_of(listed: str, trigger: str) -> bool:
    """Whether a trigger as the kernel lists it is one that was written; it lists defaults besides."""
    head, _, condition = trigger.partition(" if ")
    if name := _NAME.search(head):
        return listed.startswith(f"hist:name={name[1]}:")
    return listed.startswith(f"{head.partition(':size=')[0].partition(':vals=')[0]}:") and (
        listed.partition(" if ")[2] == condition
    )


def is_own(text: str) -> bool:
    """Whether a trigger is one that a session put there for itself, and nobody asked for by its text."""
    return _OWN.search(text) is not None


def _hist(event: PlannedEvent, key: str, name: str) -> str:
    return str(HistTrigger.of((key,), size=_ROOM, filter=event.filter, name=name))


def _timed(event: PlannedEvent, variable: Assignment, clock: str, actions: tuple[Action, ...] = ()) -> str:
    where = f"({event.filter}) && {_OF_A_TASK}" if event.filter else _OF_A_TASK
    trigger = HistTrigger.of(
        ("common_pid",), size=_ROOM, variables=(variable,), actions=actions, clock=clock, filter=where
    )
    return str(trigger)
