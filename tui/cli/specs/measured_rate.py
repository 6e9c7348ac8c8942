"""Measure the rate of a probe without recording, and print it; the most frequent of several functions first."""

from __future__ import annotations

import math

from kernel.connection.planner import Planner
from kernel.guards.limits import Limits, MeasuredRate, TooFast, without_loudest
from kernel.session.probe_steps import Mode
from kernel.watch.watch import Watch
from probes.command import Armable, short_subject
from probes.plans.plan import Plan


def rate_lines(plan: Plan, measured: MeasuredRate | None, *, counting: bool = False) -> list[str]:
    """Return the rate of a probe that was measured before it was armed, and the probe without its loudest functions.

    Empty: there was no call of a single function, or the rate was not measured. `counting`: it only counts.
    """
    if measured is None or not (measured.hits or any(event.function_field for event in plan.events)):
        return []
    text = f"{short_subject(plan.probe)}: {measured.text(plan, counting=counting)}"
    if not measured.by_function:
        return [text]
    quieter = without_loudest(plan, measured)
    most = f"{text}; the most frequent: {measured.most_frequent()}"
    return [most, *([f"without the most frequent: '{quieter}'"] if quieter is not None else [])]


def measure_rate(planner: Planner, probe: Armable) -> tuple[Plan, MeasuredRate | None]:
    """Return the rate of a probe, counted for a moment; nothing is recorded, and nothing of it is left.

    Raises ProbeRefused, TargetUnusable, TargetLost.
    """
    watch = Watch(planner, limits=Limits(math.inf, 0))
    try:
        armed = watch.armed.arm(probe, mode=Mode.OFF)
        return armed.plan, armed.measured
    except TooFast as error:
        return error.plan, error.measured
    finally:
        watch.close()
