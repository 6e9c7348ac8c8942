"""The filters of planned events and of their triggers: in the kernel's words, and what it would read otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from btf.btf import Btf
from probes.command import SyntheticEvent
from probes.facts.dialect import dialect_of
from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment, StaticEventField
from probes.hist.trigger import read_trigger
from probes.kernel_verdict import built_events
from probes.lowering.filters.filter_words import Names, enum_names, in_words_of_kernel
from probes.plans.plan import Plan, PlannedEvent
from probes.rules.events.fields import find_event
from probes.rules.events.filter import check_filter
from probes.rules.events.filter_meaning import misread
from probes.rules.readers import RuleContext
from probes.syntax.refused import RefusedWord
from probes.verdict import Refusal


def in_kernel_words(plan: Plan, btf: Btf | None, facts: TargetFacts, environment: Environment) -> Plan:
    """Return a plan whose filters have numbers for names of errors and enums, and patterns as they are meant."""
    if not any(event.filter or event.triggers for event in plan.events):
        return plan
    reading = RuleContext(dialect_of(facts, btf), btf, facts, environment)
    events = tuple(_in_kernel_words(event, reading) for event in plan.events)
    written = "" if isinstance(plan.probe, SyntheticEvent) else plan.probe.filter
    told = dict.fromkeys(f"the kernel's filter: {one.filter}" for one in events if one.filter not in ("", written))
    return replace(plan, events=events, losses=(*plan.losses, *told))


def trigger_in_kernel_words(event: PlannedEvent, text: str, reading: RuleContext) -> str:
    """Return a trigger whose filter has numbers for names."""
    condition = _condition_of(text)
    return text.removesuffix(condition) + _lowered(event, condition, reading) if condition else text


def misread_filter(event: PlannedEvent, text: str, reading: RuleContext) -> Refusal | None:
    """Return why the kernel, which takes a filter, would choose other events than it says; None: it would not."""
    try:
        found = check_filter(text, _fields(event, reading), reading.environment, reading.dialect, reading.facts.cpus)
    except RefusedWord:
        return None
    return misread(found, reading.dialect.btf_args)


def misread_trigger(event: PlannedEvent, text: str, reading: RuleContext) -> Refusal | None:
    """Return what `misread_filter` says of a trigger's filter; the column is in the trigger."""
    condition = _condition_of(text)
    refusal = misread_filter(event, condition, reading) if condition and not text.startswith("!") else None
    if refusal is None or refusal.column is None:
        return refusal
    return replace(refusal, column=len(text.rstrip()) - len(condition) + refusal.column)


def _condition_of(text: str) -> str:
    try:
        return read_trigger(text.strip()).filter.rstrip()
    except RefusedWord:
        return ""


def _in_kernel_words(event: PlannedEvent, reading: RuleContext) -> PlannedEvent:
    condition = _lowered(event, event.filter, reading) if event.filter else ""
    triggers = tuple(trigger_in_kernel_words(event, text, reading) for text in event.triggers)
    return replace(event, filter=condition, triggers=triggers)


def _lowered(event: PlannedEvent, text: str, reading: RuleContext) -> str:
    names: Names = {column.name: enum_names(reading.btf, column.btf_type) for column in event.columns}
    return in_words_of_kernel(text, _fields(event, reading), names, event.group)


def _fields(event: PlannedEvent, reading: RuleContext) -> Mapping[str, StaticEventField] | None:
    """Return the fields of an event; None: they are not known."""
    existing = built_events(event.lines, reading)
    if event.lines and not existing:
        return None
    return find_event(event.group, event.event, existing, reading.environment).fields
