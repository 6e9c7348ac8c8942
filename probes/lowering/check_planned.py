"""Check a plan's filters and triggers by the kernel's own rules before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from btf.btf import Btf
from probes.command import SyntheticEvent
from probes.facts.dialect import dialect_of
from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment
from probes.kernel_verdict import kernel_verdict, parse_existing
from probes.lowering.filters.filter_words import value_advice, word_column, written_column
from probes.lowering.filters.planned_filters import kernel_trigger, misread_filter, misread_trigger, named_values
from probes.objects.request import ObjectProbe
from probes.plans.plan import Plan, PlannedEvent
from probes.refusal import CannotLower
from probes.rules.events.fields import find_event
from probes.rules.messages.error_remedies import WAYS_OUT
from probes.rules.messages.hints import hint_for
from probes.rules.readers import RuleContext
from probes.verdict import Refusal


def check_planned(plan: Plan, btf: Btf | None, facts: TargetFacts, environment: Environment) -> None:
    """Check what will be written to the `filter` and `trigger` files of the plan's events.

    Raises:
        CannotLower: the kernel would reject a filter or trigger; a filter's column is in `str(plan.probe)`, which
            ends in it.
    """
    written: list[str] = []
    """Lines written earlier: a trigger may name the events and the triggers of others."""
    for event in plan.events:
        written += event.lines
        if not (event.filter or event.triggers) or not _has_known_fields(event, btf, facts, environment):
            continue
        refusal = _refusal(event, "filter", event.filter, written, btf, facts, environment) if event.filter else None
        if refusal is not None:
            column = None if refusal.column is None else word_column(event.filter, refusal.column, refusal.token)
            raise CannotLower(replace(refusal, column=_in_probe(plan, event.filter, column)))
        for trigger in event.triggers:
            refusal = _refusal(event, "trigger", trigger, written, btf, facts, environment)
            written.append(f"events/{event.path}/trigger|{trigger}")
            if refusal is not None:
                raise CannotLower(replace(refusal, column=None, token=trigger))


def _in_probe(plan: Plan, lowered: str, column: int | None) -> int | None:
    """Return the column in the probe's text, which ends in the filter as written."""
    written = "" if isinstance(plan.probe, SyntheticEvent | ObjectProbe) else plan.probe.filter
    return None if column is None else len(str(plan.probe)) - len(written) + written_column(written, lowered, column)


def trigger_refusal(
    event: PlannedEvent, text: str, btf: Btf | None, facts: TargetFacts, environment: Environment
) -> Refusal | None:
    """Return why the kernel would reject another trigger of an armed event; None: it accepts it, or it is unknown.

    The column is in `text`.
    """
    if event.lines:
        known = _has_known_fields(event, btf, facts, environment)
    else:  # an event of the kernel
        known = find_event(event.group, event.event, (), environment).fields is not None
    if not known:
        return None
    written = [*event.lines, *(f"events/{event.path}/trigger|{trigger}" for trigger in event.triggers)]
    verdict = kernel_verdict(text, btf, facts, written, f"events/{event.path}/trigger", environment)
    error = verdict.error
    if error is None:
        return misread_trigger(event, text, RuleContext(dialect_of(facts, btf), btf, facts, environment))
    if error.column is None or not text.endswith(verdict.command):
        return error
    # For an error in a trigger's filter the kernel shows the filter alone, and counts from the filter's beginning.
    start = len(text) - len(verdict.command)
    return replace(error, column=start + word_column(verdict.command, error.column, error.token)) if start else error


def lowered_trigger(
    event: PlannedEvent, text: str, btf: Btf | None, facts: TargetFacts, environment: Environment
) -> str:
    """Return a trigger as written for an event: its filter has numbers for names of errors and enum values."""
    return kernel_trigger(event, text, RuleContext(dialect_of(facts, btf), btf, facts, environment))


def _has_known_fields(event: PlannedEvent, btf: Btf | None, facts: TargetFacts, environment: Environment) -> bool:
    """Return whether the event's line can be parsed, so that its fields are known."""
    context = RuleContext(dialect_of(facts, btf), btf, facts, environment)
    return bool(parse_existing(event.lines, context))


def _refusal(
    event: PlannedEvent,
    file: str,
    text: str,
    written: Sequence[str],
    btf: Btf | None,
    facts: TargetFacts,
    environment: Environment,
) -> Refusal | None:
    error = kernel_verdict(text, btf, facts, written, f"events/{event.path}/{file}", environment).error
    context = RuleContext(dialect_of(facts, btf), btf, facts, environment)
    if error is not None:
        word = error.token.partition(" ")[0]  # The kernel tells the rest of the filter.
        advice = value_advice(error.code, text, word, named_values(event, context))
        if not (advice.hint or advice.similar):
            return error
        better = error.hint if error.hint != WAYS_OUT.get(error.code) else advice.hint
        hint, nearest = hint_for(error.code, word, (), better or advice.hint, advice.similar)
        return replace(error, token=word, hint=hint, nearest=nearest)
    return misread_filter(event, text, context) if file == "filter" else misread_trigger(event, text, context)
