"""Measure the rate of a probe's events just before it records, and refuse it beyond the limits."""

from __future__ import annotations

from collections.abc import Collection

from kernel.cleanup.undo import UndoList
from kernel.guards.arm_progress import MEASURING, ArmProgress
from kernel.guards.limits import Limits, MeasuredRate, asks_before, too_fast_error
from kernel.guards.rate_meter import measured
from kernel.tracefs import Instance
from probes.plans.plan import Plan


def checked_rate(
    instance: Instance,
    plan: Plan,
    taken: Collection[str],
    counted: UndoList,
    name: str,
    limits: Limits,
    progress: ArmProgress,
) -> MeasuredRate | None:
    """Return the rate of the events of a plan; None: limits ask for none, or it can't be told.

    Args:
        instance: instance that the events are defined for.
        plan: plan that is being armed.
        taken: paths of events that other probes have.
        counted: gets the undo steps of what counts.
        name: begin of the names of histograms.
        limits: highest rates.
        progress: gets the step, and may stop it.

    Raises TooFast, ArmingCancelled, TargetLost.
    """
    # A synthetic event does not happen until its triggers are there.
    events = [event for event in plan.events if event.recorded and not event.line.startswith("s:")]
    # An event that another probe has too would count both.
    is_shared = any(event.path in taken for event in events)
    if not limits.max_rate or not events or plan.tracer is not None or is_shared:
        return None
    patient = limits.asks_about_several and any(event.function_field for event in events)
    progress.begin(MEASURING)
    found = measured(instance, events, counted, name, patient=patient, wait=progress.wait)
    if found is None:
        return None
    target = instance.target
    found = found._replace(reader=getattr(target, "reader", None), slowdown=getattr(target, "slowdown", 1))
    if asks_before(plan, found, limits):
        raise too_fast_error(plan, found, limits)
    return found
