"""Lower a source to the tracer, settings and events that make it on one kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from btf.btf import Btf
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import Environment
from probes.lowering.latency import lower_latency
from probes.lowering.sources.monitor import lower_monitor
from probes.lowering.sources.option_refusal import option_refusal
from probes.lowering.sources.watchpoint import lower_watchpoint, machine_obstacle
from probes.plans.plan import Plan, PlanColumn, PlannedEvent
from probes.plans.tracer import PlannedTracer, TracerSetting
from probes.refusal import CannotLower, own_refusal
from probes.sources.kinds import MONITOR, WATCHPOINT, SourceKind
from probes.sources.option import cpu_mask, cpus_of
from probes.sources.source import Source, is_monitor, is_watchpoint
from probes.static_events import Latency, LatencyKey

NOISES: Final = ("irq_noise", "nmi_noise", "softirq_noise", "thread_noise")
"""Events of what interrupted a measuring thread (include/trace/events/osnoise.h)."""
_THRESHOLD: Final = "tracing_thresh"
_REAL_TIME: Final = "next_prio < 100"
"""Kernel priorities of real-time policies are 0 to 99, of deadline -1 (include/linux/sched/prio.h)."""
_FIELDS: Final = {
    "timerlat": ("seqnum", "context", "timer_latency"),
    "osnoise": (
        *("runtime", "noise", "max_sample", "hw_count", "nmi_count", "irq_count", "softirq_count", "thread_count"),
    ),
    "hwlat": ("seqnum", "duration", "outer_duration", "count", "nmi_count", "nmi_total_ts", "tv_sec", "tv_nsec"),
    "irq_noise": ("desc", "vector", "start", "duration"),
    "nmi_noise": ("start", "duration"),
    "softirq_noise": ("vector", "start", "duration"),
    "thread_noise": ("comm", "pid", "start", "duration"),
    "sample_threshold": ("start", "duration", "interference"),
}
"""Fields of the events, in the order in which they are shown."""


def lower_source(
    source: Source, btf: Btf | None, facts: TargetFacts, group: str, event: str | None, environment: Environment
) -> Plan:
    """Lower a source, as `probes.lowering.lower.lower` does. Raises CannotLower."""
    if is_watchpoint(source):
        return lower_watchpoint(source, btf, facts, group, event, environment)
    if is_monitor(source):
        return lower_monitor(source, btf, facts, group, event, environment)
    if not source.kind.tracer:
        return _wakeups(source, btf, facts, group, environment)
    if reason := missing_reason(source.kind, facts):
        raise CannotLower(own_refusal("missing_capability", source.name, 0, reason))
    _check(source, facts)
    tracer, events, losses = _LOWERED[source.name](source)
    return Plan(source, events, losses, tracer)


def missing_reason(kind: SourceKind, facts: TargetFacts) -> str:
    """Return why a kernel can't make a kind of source, with the switch that gives it; empty: it can."""
    if kind is WATCHPOINT:
        return machine_obstacle(facts)
    if kind is MONITOR:
        return ""  # numbers of files are on every kernel
    if kind.tracer:
        if kind.tracer in facts.tracers:
            return ""
        return f"It has no tracer {kind.tracer}: Linux {kind.since} or newer has it, with CONFIG_{kind.config}"
    for feature in (Feature.SYNTHETIC_EVENTS, Feature.HIST_TRIGGERS):
        if not facts.has(feature):
            return f"This kernel has no {feature}"
    return ""


def _check(source: Source, facts: TargetFacts) -> None:
    """Raise CannotLower for options that this kernel can't have, or that contradict each other."""
    if source.has("cpus") and (highest := cpus_of(source.value("cpus"))[-1]) >= facts.cpus:
        reason = f"The kernel has {facts.cpus} CPUs, from 0 on"
        raise option_refusal(source, "cpus", reason, str(highest))
    for part, whole in (("runtime", "period"), ("width", "window")):
        names = {option.name for option in source.kind.options}
        if part in names and source.us(part) > source.us(whole):
            given = part if part in dict(source.given) else whole
            raise option_refusal(
                source, given, f"{part} ({source.value(part)}) is at most {whole} ({source.value(whole)})"
            )


def _timerlat(source: Source) -> tuple[PlannedTracer, tuple[PlannedEvent, ...], tuple[str, ...]]:
    settings = [
        *_cpus(source),
        _us("osnoise/timerlat_period_us", source, "period"),
        _us("osnoise/stop_tracing_us", source, "stop_irq"),
        _us("osnoise/stop_tracing_total_us", source, "stop"),
        _us("osnoise/print_stack", source, "stack"),
    ]
    return _measuring(source, settings, ())


def _osnoise(source: Source) -> tuple[PlannedTracer, tuple[PlannedEvent, ...], tuple[str, ...]]:
    settings = [
        *_cpus(source),
        _us("osnoise/runtime_us", source, "runtime", below="osnoise/period_us"),
        _us("osnoise/period_us", source, "period"),
        _us("osnoise/stop_tracing_us", source, "stop"),
        _us("osnoise/stop_tracing_total_us", source, "stop_total"),
        *_tolerance(source),
    ]
    return _measuring(source, settings, ("sample_threshold",))


def _measuring(
    source: Source, settings: list[TracerSetting], more: tuple[str, ...]
) -> tuple[PlannedTracer, tuple[PlannedEvent, ...], tuple[str, ...]]:
    beside = (*more, *NOISES) if source.value("causes") == "on" else ()
    events = (_event("ftrace", source.name), *(_event("osnoise", name) for name in beside))
    stops = any(source.us(name) for name in ("stop", "stop_irq", "stop_total") if source.kind.option(name))
    has_stacks = source.kind.option("stack") is not None and source.us("stack") > 0
    stacks_of = f"ftrace/{source.name}" if has_stacks else ""
    losses = ("a value beyond the limit ends recording, also of other probes of this session",) if stops else ()
    return PlannedTracer(source.name, tuple(settings), stacks_of), events, losses


def _hwlat(source: Source) -> tuple[PlannedTracer, tuple[PlannedEvent, ...], tuple[str, ...]]:
    settings = [
        *(_mask(source.value("cpus")) if source.has("cpus") else ()),
        TracerSetting("hwlat_detector/mode", source.value("mode")),
        _us("hwlat_detector/width", source, "width", below="hwlat_detector/window"),
        _us("hwlat_detector/window", source, "window"),
        *_tolerance(source),
    ]
    return PlannedTracer("hwlat", tuple(settings)), (_event("ftrace", "hwlat"),), ()


_LOWERED: Final[dict[str, Callable[[Source], tuple[PlannedTracer, tuple[PlannedEvent, ...], tuple[str, ...]]]]] = {
    "timerlat": _timerlat,
    "osnoise": _osnoise,
    "hwlat": _hwlat,
}


def _us(file: str, source: Source, option: str, *, below: str = "") -> TracerSetting:
    return TracerSetting(file, str(source.us(option)), below=below)


def _cpus(source: Source) -> tuple[TracerSetting, ...]:
    return (TracerSetting("osnoise/cpus", source.value("cpus")),) if source.has("cpus") else ()


def _mask(cpus: str) -> tuple[TracerSetting, ...]:
    return (TracerSetting("tracing_cpumask", cpu_mask(cpus_of(cpus)), shared=False),)


def _tolerance(source: Source) -> tuple[TracerSetting, ...]:
    return (_us(_THRESHOLD, source, "tolerance"),) if source.has("tolerance") else ()


def _event(group: str, name: str) -> PlannedEvent:
    return PlannedEvent(group, name, "", "", columns=tuple(PlanColumn(field, field) for field in _FIELDS[name]))


def _wakeups(source: Source, btf: Btf | None, facts: TargetFacts, group: str, environment: Environment) -> Plan:
    """Lower wakeups to the time between two events of the scheduler. Raises CannotLower."""
    conditions = [_REAL_TIME] if source.value("tasks") == "rt" else []
    if source.us("least"):
        conditions.append(f"lat >= {source.us('least') * 1000}")
    latency = Latency(
        source.name,
        "sched/sched_waking",
        "sched/sched_switch",
        (LatencyKey("pid", "next_pid"),),
        ("next_comm", "next_prio"),
        " && ".join(conditions),
    )

    def end(*_: object) -> Plan:
        raise AssertionError("both ends are events")

    try:
        plan = lower_latency(latency, btf, facts, group, environment, end)
    except CannotLower as error:
        raise CannotLower(replace(error.refusal, column=0, token=source.name)) from None
    return replace(plan, probe=source)
