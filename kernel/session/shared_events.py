"""Arm several probes on one event: each is a line of dynamic_events, and can be removed while the others stay.

The kernel adds a probe to an existing event if the names and types of its arguments are equal (append_trace_kprobe);
a deletion with place and arguments as listed removes that probe alone.

Probes in programs are different: a uprobe that joins an enabled event stays off, and one that leaves it is freed
while still enabled (trace_uprobe.c, 6.1 to 7.3), which crashes the kernel at the next hit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

from kernel.cleanup.undo import UndoFailure
from kernel.errors import KernelError, ProbeRefused
from kernel.session.probe_steps import ProbeSteps
from kernel.target import Step
from kernel.tracefs import Instance, Tracefs
from probes.command import UserProbe
from probes.plans.plan import Plan, PlannedEvent
from probes.sources.source import Source
from probes.static_events import Latency, StaticEvent
from probes.user_events.event import UserEvent
from probes.verdict import Refusal, Verdict


def refuse_conflicts(plan: Plan, others: Sequence[Plan]) -> None:
    """Refuse a probe on another plan's event if they can't share it. Raises ProbeRefused.

    A kernel event is on or off; a time between events has one synthetic event, made by one plan. A shared event can't
    have two filters, nor a filter for one of its probes: the later one would hold for all. A trigger acts for all of
    its probes, too, and disappears with the first probe that leaves.
    """
    used_paths = {event.path for other in others for event in other.events if event.recorded or event.line}
    if isinstance(plan.probe, StaticEvent | Latency | Source | UserEvent) and any(
        e.path in used_paths for e in plan.events if e.recorded
    ):
        hint = "Take away what is armed before it is armed again"
        refusal = Refusal("event_in_use", f"{plan.probe.subject} is armed already", 0, plan.probe.subject, hint)
        raise ProbeRefused(Verdict(str(plan.probe), refusal))
    if isinstance(plan.probe, UserProbe) and (
        conflict := next((e for e in plan.events if e.path in used_paths), None)
    ):
        hint = "A probe in a program can't join one that is armed: give it a name of its own"
        refusal = Refusal("event_in_use", f"{conflict.event} is the event of another probe", 0, plan.probe.head, hint)
        raise ProbeRefused(Verdict(str(plan.probe), refusal))

    _refuse_other_conditions(plan, others)


def _refuse_other_conditions(plan: Plan, others: Sequence[Plan]) -> None:
    defined = [event for other in others for event in other.events if event.line]
    for event in plan.events:
        for present in (one for one in defined if event.line and one.path == event.path):
            if present.filter != event.filter:
                filter_text = f"the filter {present.filter}" if present.filter else "no filter"
                message = f"{event.event} is the event of another probe, which has {filter_text}"
            elif present.triggers or event.triggers:
                message = f"{event.event} is the event of another probe, and a trigger would be that one's, too"
            else:
                continue
            hint = "Probes that share an event share its filter and triggers: give this one a name of its own"
            raise ProbeRefused(
                Verdict(str(plan.probe), Refusal("event_in_use", message, 0, str(plan.probe).split(" ")[0], hint))
            )


class SharedEvent(NamedTuple):
    """An event that is part of more than one plan."""

    event: PlannedEvent
    earlier_probes: int
    """Number of its probes from plans armed earlier."""


def shared_events(plans: Sequence[Plan], number: int) -> list[SharedEvent]:
    """Return the events of the `number`-th plan that other plans share; `plans` in the order of arming."""
    events = []
    for event in plans[number].events:
        probes = [sum(len(e.lines) for e in plan.events if e.path == event.path) for plan in plans]
        if sum(probes) > len(event.lines):
            events.append(SharedEvent(event, sum(probes[:number])))
    return events


def leave_shared_events(
    tracefs: Tracefs, instance: Instance, plans: Sequence[Plan], number: int, holding: ProbeSteps
) -> list[UndoFailure]:
    """Take a probe's part of events that others have too; the events stay for those, and so does what fails.

    Args:
        tracefs: of the kernel.
        instance: of the session.
        plans: those that are armed, in this order; the `number`-th is the one that goes, all of it or what there is
            of it.
        number: see `plans`.
        holding: steps of the plan that goes.
    """
    failures: list[UndoFailure] = []
    for one in shared_events(plans, number):
        step = tracefs.define(one.event.remove)
        try:
            for step in removals(tracefs, one):
                tracefs.target.perform(step)
        except KernelError as error:
            failures.append(UndoFailure(step, error))
        with contextlib.suppress(KernelError):  # the remote host then undoes it twice, which is harmless
            holding.enabled.forget(instance.enable(one.event.path, False))
            holding.defined.forget(tracefs.define(one.event.remove))
    return failures


def removals(tracefs: Tracefs, shared_event: SharedEvent) -> list[Step]:
    """Return the steps that remove one plan's probes from an event. Raises FileRefused, TargetLost."""
    listed = [line.split() for line in tracefs.read("dynamic_events").splitlines()]
    own_lines = [words for words in listed if words and words[0].partition(":")[2] == shared_event.event.path]
    return [
        # For an fprobe at the exit the list has %return, a deletion does not.
        tracefs.define(" ".join([f"-:{shared_event.event.path}", words[1].removesuffix("%return"), *words[2:]]))
        for words in own_lines[
            shared_event.earlier_probes : shared_event.earlier_probes + len(shared_event.event.lines)
        ]
    ]
