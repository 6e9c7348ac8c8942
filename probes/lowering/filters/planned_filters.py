"""Write the filters of planned events and triggers in the kernel's words, and find those the kernel would misread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from btf.btf import Btf
from probes.command import SyntheticEvent
from probes.facts.dialect import dialect_of
from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment, StaticEventField, symbol_count
from probes.functions.function_index import index_of
from probes.hist.trigger import read_trigger
from probes.kernel_verdict import parse_existing
from probes.lowering.filters.field_names import renamed
from probes.lowering.filters.filter_words import Names, kernel_filter, number_names
from probes.objects.request import ObjectProbe
from probes.plans.plan import Plan, PlannedEvent
from probes.rules.events.fields import find_event
from probes.rules.events.filter import check_filter
from probes.rules.events.filter_meaning import constant_notes, misread
from probes.rules.readers import RuleContext
from probes.syntax.refused import RefusedWord
from probes.verdict import Refusal


def with_kernel_filters(plan: Plan, btf: Btf | None, facts: TargetFacts, environment: Environment) -> Plan:
    """Return a plan whose filters have numbers for names of errors and enum values, and lowered patterns."""
    if not any(event.filter or event.triggers for event in plan.events):
        return plan
    context = RuleContext(dialect_of(facts, btf), btf, facts, environment)
    events = tuple(_in_kernel_words(event, context) for event in plan.events)
    written = "" if isinstance(plan.probe, SyntheticEvent | ObjectProbe) else plan.probe.filter
    notes = dict.fromkeys(
        f"the kernel's filter: {event.filter}" for event in events if event.filter not in ("", written)
    )
    constant = dict.fromkeys(note for event in events if event.filter for note in _constant_notes(event, context))
    return replace(plan, events=events, losses=(*plan.losses, *notes, *constant))


def _constant_notes(event: PlannedEvent, context: RuleContext) -> tuple[str, ...]:
    fields, dialect = _fields(event, context), context.dialect
    try:
        return constant_notes(check_filter(event.filter, fields, context.environment, dialect, context.facts.cpus))
    except RefusedWord:
        return ()


def kernel_trigger(event: PlannedEvent, text: str, context: RuleContext) -> str:
    """Return a trigger whose filter has numbers in place of names."""
    condition = _condition_of(text)
    return text.removesuffix(condition) + _lowered(event, condition, context) if condition else text


def misread_filter(event: PlannedEvent, text: str, context: RuleContext) -> Refusal | None:
    """Return why the kernel accepts a filter but would match other events than it says; None: it would not."""
    try:
        parsed = check_filter(text, _fields(event, context), context.environment, context.dialect, context.facts.cpus)
    except RefusedWord:
        return None

    def count(name: str) -> int:
        return max(index_of(context.facts).count(name), symbol_count(name, context.environment))

    return misread(parsed, context.dialect.function_filters, count)


def misread_trigger(event: PlannedEvent, text: str, context: RuleContext) -> Refusal | None:
    """Return the refusal of a trigger's filter by `misread_filter`; the column is in the trigger."""
    condition = _condition_of(text)
    refusal = misread_filter(event, condition, context) if condition and not text.startswith("!") else None
    if refusal is None or refusal.column is None:
        return refusal
    return replace(refusal, column=len(text.rstrip()) - len(condition) + refusal.column)


def _condition_of(text: str) -> str:
    try:
        return read_trigger(text.strip()).filter.rstrip()
    except RefusedWord:
        return ""


def _in_kernel_words(event: PlannedEvent, context: RuleContext) -> PlannedEvent:
    condition = _lowered(event, event.filter, context) if event.filter else ""
    triggers = tuple(kernel_trigger(event, text, context) for text in event.triggers)
    return replace(event, filter=condition, triggers=triggers)


def _lowered(event: PlannedEvent, text: str, context: RuleContext) -> str:
    if event.function_field:
        text = renamed(text, event.function_field, f"{event.function_address}.function")
    return kernel_filter(text, _fields(event, context), named_values(event, context), event.group)


def named_values(event: PlannedEvent, context: RuleContext) -> Names:
    """Return the named values of the fields of a planned event."""
    return {
        column.name: number_names(context.btf, column.btf_type, column.naming, context.dialect.machine)
        for column in event.columns
    }


def _fields(event: PlannedEvent, context: RuleContext) -> Mapping[str, StaticEventField] | None:
    """Return the fields of an event; None: unknown."""
    existing = parse_existing(event.lines, context)
    if event.lines and not existing:
        return None
    return find_event(event.group, event.event, existing, context.environment).fields
