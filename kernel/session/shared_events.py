"""Several probes on one event: each is a line of dynamic_events, and one can go while the others stay.

The kernel puts a probe on an event that is there where the names and types of its arguments are the same
(append_trace_kprobe); a deletion that says place and arguments as they are listed takes that one alone.

Not so in programs: a uprobe that joins an event which is on stays off, and one that leaves it is freed while it is
still on (trace_uprobe.c, 6.1 to 7.3), which takes the kernel down at the next hit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kernel.errors import ProbeRefused
from kernel.target import Step
from kernel.tracefs import Tracefs
from probes.command import UserProbe
from probes.plans.plan import Plan, PlannedEvent
from probes.static_events import Latency, StaticEvent
from probes.verdict import Refusal, Verdict


def refuse_joining(plan: Plan, others: Sequence[Plan]) -> None:
    """Refuse a probe on an event that another plan has, where both can't be. Raises ProbeRefused.

    An event of the kernel's own is on or off; a time between events has one synthetic event, which one plan makes.
    No event that is shared has two filters, or one filter for one of its probes: the later would hold for all. What
    a trigger does it does for all of them, too, and goes with the first that leaves.
    """
    taken = {event.path for other in others for event in other.events if event.recorded or event.line}
    if isinstance(plan.probe, StaticEvent | Latency) and any(e.path in taken for e in plan.events if e.recorded):
        hint = "Take away what is armed before it is armed again"
        refusal = Refusal("event_in_use", f"{plan.probe.subject} is armed already", 0, plan.probe.subject, hint)
        raise ProbeRefused(Verdict(str(plan.probe), refusal))
    if isinstance(plan.probe, UserProbe) and (found := next((e for e in plan.events if e.path in taken), None)):
        hint = "A probe in a program can't join one that is armed: give it a name of its own"
        refusal = Refusal("event_in_use", f"{found.event} is the event of another probe", 0, plan.probe.head, hint)
        raise ProbeRefused(Verdict(str(plan.probe), refusal))

    _refuse_other_conditions(plan, others)


def _refuse_other_conditions(plan: Plan, others: Sequence[Plan]) -> None:
    made = [event for other in others for event in other.events if event.line]
    for event in plan.events:
        for there in (one for one in made if event.line and one.path == event.path):
            if there.filter != event.filter:
                held = f"the filter {there.filter}" if there.filter else "no filter"
                said = f"{event.event} is the event of another probe, which has {held}"
            elif there.triggers or event.triggers:
                said = f"{event.event} is the event of another probe, and a trigger would be that one's, too"
            else:
                continue
            hint = "Probes that share an event share its filter and triggers: give this one a name of its own"
            raise ProbeRefused(
                Verdict(str(plan.probe), Refusal("event_in_use", said, 0, str(plan.probe).split(" ")[0], hint))
            )


class SharedEvent(NamedTuple):
    """An event that more than one plan has."""

    event: PlannedEvent
    before: int
    """Number of probes that plans armed earlier have on it."""


def shared(plans: Sequence[Plan], number: int) -> list[SharedEvent]:
    """Events of the `number`-th plan that others of the plans, which are in the order of arming, have too."""
    found = []
    for event in plans[number].events:
        probes = [sum(len(e.lines) for e in plan.events if e.path == event.path) for plan in plans]
        if sum(probes) > len(event.lines):
            found.append(SharedEvent(event, sum(probes[:number])))
    return found


def removals(tracefs: Tracefs, one: SharedEvent) -> list[Step]:
    """Steps that take the probes of one plan off an event. Raises FileRefused, TargetLost."""
    listed = [line.split() for line in tracefs.read("dynamic_events").splitlines()]
    mine = [words for words in listed if words and words[0].partition(":")[2] == one.event.path]
    return [
        # Of an fprobe at the exit the list says %return, a deletion does not.
        tracefs.define(" ".join([f"-:{one.event.path}", words[1].removesuffix("%return"), *words[2:]]))
        for words in mine[one.before : one.before + len(one.event.lines)]
    ]
