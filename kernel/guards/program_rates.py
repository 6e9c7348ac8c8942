"""Measure the rate of a probe by its BPF programs, which count its calls before they record any."""

from __future__ import annotations

import time

from kernel.bpf.calls import BpfRefused
from kernel.bpf.hit_counts import CallCounter
from kernel.bpf.loaded import LoadedPrograms
from kernel.errors import FileRefused
from kernel.guards.arm_progress import MEASURING, ArmProgress
from kernel.guards.limits import Limits, MeasuredRate, asks_before, too_fast_error
from kernel.guards.rate_meter import ENOUGH, LONGEST, STEP
from kernel.target import Target
from probes.bpf.program import ProgramMode
from probes.plans.cost_estimate import EventRate
from probes.plans.plan import Plan


def measure_programs(
    target: Target, plan: Plan, loaded: LoadedPrograms, limits: Limits, progress: ArmProgress
) -> MeasuredRate | None:
    """Count hits for a moment, if limits ask for it. Raises TooFast, ArmingCancelled, BpfRefused, TargetLost."""
    if not limits.max_rate:
        return None
    progress.begin(MEASURING)
    counter = _call_counter(target, plan)
    try:
        loaded.switch(ProgramMode.COUNT)
        start = time.monotonic()
        while True:
            progress.wait(STEP)
            counts, seconds = loaded.counts(), time.monotonic() - start
            if seconds >= LONGEST or sum(one.hits for one in counts.values()) >= ENOUGH:
                break
        by_function = counter.rates() if counter is not None else loaded.rates_by_function(seconds)
        # Of another time span, a little longer: what is said of each function adds up to what is said of all.
        by_function = _scaled(by_function, counts[plan.events[0].path].hits / seconds)
    finally:
        if counter is not None:
            counter.close()
    rates = {path: EventRate(one.hits / seconds, one.passed / seconds) for path, one in counts.items()}
    reader, slowdown = getattr(target, "reader", None), getattr(target, "slowdown", 1)
    measured = MeasuredRate(rates, seconds, reader, slowdown, by_function)
    if asks_before(plan, measured, limits):
        loaded.switch(ProgramMode.OFF)
        raise too_fast_error(plan, measured, limits)
    return measured


def _call_counter(target: Target, plan: Plan) -> CallCounter | None:
    """Return a counter of the calls of each of several functions that share programs; None: there is none."""
    functions = [name for program in plan.events[0].programs for name in program.functions]
    if len(functions) < 2 or plan.events[0].programs[0].point.on_one:
        return None
    try:
        return CallCounter(target, functions)
    except (BpfRefused, FileRefused):
        return None


def _scaled(rates: dict[str, float], total: float) -> dict[str, float]:
    """Return rates in the same proportions with another sum; empty if that is 0."""
    before = sum(rates.values())
    return {name: rate * total / before for name, rate in rates.items()} if total else {}
