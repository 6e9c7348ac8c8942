"""Lower a probe to events of tracefs: the lines that define them. Each kind of command has a module."""

from __future__ import annotations

from typing import NamedTuple

from btf.btf import Btf
from probes.command import Armable, SyntheticEvent, UserProbe
from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment
from probes.functions.signature import Signature
from probes.lowering.check_planned import check_planned
from probes.lowering.event import lower_event
from probes.lowering.filters.planned_filters import with_kernel_filters
from probes.lowering.function import lower_function
from probes.lowering.latency import lower_latency
from probes.lowering.sources.lower_source import lower_source
from probes.lowering.static_events import lower_static
from probes.lowering.synthetic import lower_synthetic
from probes.lowering.tracepoint import lower_tracepoint
from probes.lowering.user import lower_user
from probes.lowering.user_event import lower_user_event
from probes.objects.request import ObjectProbe
from probes.plans.plan import Plan
from probes.probe import Probe, ProbeEnds, ProbeKind
from probes.refusal import CannotLower, own_refusal, refuse_if_unseen
from probes.sources.source import Source
from probes.static_events import Latency, StaticEvent
from probes.user_events.event import UserEvent


class LoweringInput(NamedTuple):
    """Target and names by which a probe is lowered; see `probes.lowering.lower.lower`."""

    btf: Btf | None
    facts: TargetFacts
    group: str
    event: str | None
    environment: Environment


def lower_to_events(probe: Armable, given: LoweringInput, shared: Signature | None = None) -> Plan:
    """Return the plan of a probe as events of tracefs. Raises CannotLower.

    `shared`: signature by which the values of several functions are read; None: they are read by number only.
    """
    if isinstance(probe, Probe) and probe.when is ProbeEnds.TRACK:
        hint = "BPF programs do, where the kernel attaches them to many functions (CONFIG_FPROBE)"
        raise CannotLower(own_refusal("no_tracking", "%track", str(probe).index("%track"), hint))
    try:
        lowered = _lowered(probe, given, shared)
        plan = with_kernel_filters(lowered, given.btf, given.facts, given.environment)
    except CannotLower as error:
        raise CannotLower(refuse_if_unseen(error.refusal, given.facts)) from error
    check_planned(plan, given.btf, given.facts, given.environment)
    return plan


def _lowered(probe: Armable, given: LoweringInput, shared: Signature | None) -> Plan:
    btf, facts, group, event, environment = given
    if isinstance(probe, SyntheticEvent):
        return lower_synthetic(probe, facts)
    if isinstance(probe, StaticEvent):
        return lower_static(probe, btf, facts, environment)
    if isinstance(probe, Source):
        return lower_source(probe, btf, facts, group, event, environment)
    if isinstance(probe, Latency):

        def end(side: Probe, name: str) -> Plan:
            return _on_function(side, given._replace(event=name))

        return lower_latency(probe, btf, facts, group, environment, end)
    if isinstance(probe, UserEvent):
        return lower_user_event(probe, facts)
    if isinstance(probe, UserProbe):
        return lower_user(probe, btf, facts, group, event, environment)
    if isinstance(probe, ObjectProbe):
        raise CannotLower(own_refusal("object_by_itself", hint=f"{probe.subject} has programs, no lines"))
    if probe.kind is ProbeKind.TRACEPOINT:
        return lower_tracepoint(probe, btf, facts, group, event, environment)
    if probe.kind is ProbeKind.EVENT:
        return lower_event(probe, btf, facts, group, event, environment)
    return _on_function(probe, given, shared)


def _on_function(probe: Probe, given: LoweringInput, shared: Signature | None = None) -> Plan:
    """Return the plan of a probe on a function, or on instructions that are found in its code. Raises CannotLower."""
    btf, facts, group, event, environment = given
    if probe.needs_code:
        from probes.lowering.instructions.lower_ways_out import lower_ways_out

        return lower_ways_out(probe, btf, facts, group, event, environment)
    return lower_function(probe, btf, facts, group, event, environment, shared)
