"""Describe what of an armed probe is of all tasks though its events are limited to those of a command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from probes.hist.stack_triggers import records_stacks
from probes.plans.plan import Plan


def command_notes(plan: Plan, triggers: Iterable[str]) -> Iterator[str]:
    """Yield what of a probe is not limited to a command, though its events are; `triggers`: those that are added."""
    subject = plan.probe.subject
    if plan.sampled is not None or plan.tracer is not None:
        yield f"{subject}: it measures the whole machine, not the command alone"
    for text in triggers:
        if not records_stacks(text):
            yield f"{subject}: its trigger {text.partition(':')[0]} acts at the events of all tasks"
