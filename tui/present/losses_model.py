"""Build the sheet of the loss panel from the armed probes and their counts; no screen."""

from __future__ import annotations

import re
from dataclasses import replace

from events.loss_counts import LossCounts
from kernel.session.armed import Armed
from kernel.watch.watch import Watch
from probes.plans.plan import Plan, PlannedEvent, titles_of
from tui.present.loss_totals import losses_of
from widgets.events.values import LossSheet, ProbeLoss

DEFAULT_MAXACTIVE = 10
"""Smallest default maxactive of a kretprobe: max(10, 2 * CPUs), kernel/trace/trace_kprobe.c and kernel/kprobes.c."""
MOST_ACTIVE = 4096
"""KRETPROBE_MAXACTIVE_MAX."""
_KRETPROBE = re.compile(r"r(\d*)(?=:)")


def sheet_of(watching: Watch, counts: LossCounts | None, buffer_kb: int, usual_kb: int) -> LossSheet:
    """Return all counts of losses at one moment.

    Args:
        watching: the watch.
        counts: last counts of the kernel; None: none yet.
        buffer_kb: present size of the buffer of each CPU.
        usual_kb: its size before it was changed.
    """
    names = titles_of([armed.plan for armed in watching.armed.probes])
    probes = tuple(
        _probe(watching, armed, counts, name) for armed, name in zip(watching.armed.probes, names, strict=True)
    )
    return LossSheet(losses_of(watching, counts), counts, probes, buffer_kb, usual_kb)


def _probe(watching: Watch, armed: Armed, counts: LossCounts | None, name: str) -> ProbeLoss:
    session, store = watching.session, watching.store
    paths = [event.path for event in armed.plan.events]
    pace = None
    if store is not None and watching.has_pace:
        rates = store.by_event(store.rates())
        pace = sum(rates.get(path, 0.0) for path in paths)
    hits = [counts.counted[path] for path in paths if path in counts.hits] if counts else []
    missed = [number for path in paths if (number := counts.nmissed.get(path)) is not None] if counts else []
    return ProbeLoss(
        name,
        session.probes.mode(armed).value if session is not None else "",
        pace,
        sum(hits) if hits else None,
        sum(missed) if missed else None,
        maxactive_of(armed.plan),
    )


def maxactive_of(plan: Plan) -> int | None:
    """Return the maxactive of a plan's kretprobe; None: it has no kretprobe."""
    found = [_KRETPROBE.match(event.line) for event in plan.events]
    numbers = [int(match[1] or DEFAULT_MAXACTIVE) for match in found if match]
    return max(numbers, default=None)


def with_maxactive(plan: Plan, number: int) -> Plan:
    """Return the plan with another maxactive of its kretprobes."""
    return replace(plan, events=tuple(_active(event, number) for event in plan.events))


def _active(event: PlannedEvent, number: int) -> PlannedEvent:
    return replace(event, line=_KRETPROBE.sub(f"r{min(number, MOST_ACTIVE)}", event.line, count=1))
