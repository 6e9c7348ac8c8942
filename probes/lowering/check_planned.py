"""A plan's filters and triggers, asked of the kernel's own rules before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from btf.btf import Btf
from probes.command import SyntheticEvent
from probes.facts.dialect import dialect_of
from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment
from probes.kernel_verdict import built_events, kernel_verdict
from probes.lowering.filters.filter_words import column_written
from probes.lowering.filters.planned_filters import misread_filter, misread_trigger, trigger_in_kernel_words
from probes.plans.plan import Plan, PlannedEvent
from probes.refusal import CannotLower
from probes.rules.readers import RuleContext
from probes.verdict import Refusal


def check_planned(plan: Plan, btf: Btf | None, facts: TargetFacts, environment: Environment) -> None:
    """Check what goes into the `filter` and `trigger` files of the events that will be made.

    Raises:
        CannotLower: the kernel would refuse one; a filter's column is in `str(plan.probe)`, which ends in it.
    """
    there: list[str] = []
    """What is written before: a trigger may name the events and the triggers of others."""
    for event in plan.events:
        there += event.lines
        if not (event.filter or event.triggers) or not _is_known(event, btf, facts, environment):
            continue
        refusal = _refusal(event, "filter", event.filter, there, btf, facts, environment) if event.filter else None
        if refusal is not None:
            column = None if refusal.column is None else _place(event.filter, refusal.column, refusal.token)
            raise CannotLower(replace(refusal, column=_in_probe(plan, event.filter, column)))
        for trigger in event.triggers:
            refusal = _refusal(event, "trigger", trigger, there, btf, facts, environment)
            there.append(f"events/{event.path}/trigger|{trigger}")
            if refusal is not None:
                raise CannotLower(replace(refusal, column=None, token=trigger))


def _in_probe(plan: Plan, lowered: str, column: int | None) -> int | None:
    """The column in the probe's text, which ends in the filter as it was written."""
    written = "" if isinstance(plan.probe, SyntheticEvent) else plan.probe.filter
    return None if column is None else len(str(plan.probe)) - len(written) + column_written(written, lowered, column)


def trigger_refusal(
    event: PlannedEvent, text: str, btf: Btf | None, facts: TargetFacts, environment: Environment
) -> Refusal | None:
    """What the kernel would say of one more trigger of an armed event; None: it takes it, or can't be known.

    The column is in `text`.
    """
    if not _is_known(event, btf, facts, environment):
        return None
    there = [*event.lines, *(f"events/{event.path}/trigger|{trigger}" for trigger in event.triggers)]
    verdict = kernel_verdict(text, btf, facts, there, f"events/{event.path}/trigger", environment)
    error = verdict.error
    if error is None:
        return misread_trigger(event, text, RuleContext(dialect_of(facts, btf), btf, facts, environment))
    if error.column is None or not text.endswith(verdict.command):
        return error
    # Of a trigger's filter the kernel shows the filter alone, and counts from where that begins.
    start = len(text) - len(verdict.command)
    return replace(error, column=start + _place(verdict.command, error.column, error.token)) if start else error


def lowered_trigger(
    event: PlannedEvent, text: str, btf: Btf | None, facts: TargetFacts, environment: Environment
) -> str:
    """Return a trigger as it is written for an event: in its filter numbers for names of errors and enums."""
    return trigger_in_kernel_words(event, text, RuleContext(dialect_of(facts, btf), btf, facts, environment))


def _place(text: str, column: int, token: str) -> int:
    """Where a filter's wrong word begins: the kernel puts its caret one column behind that, or behind it."""
    if token and text.startswith(token, column - 1):
        return column - 1
    begin = text.rfind(token, 0, column + 1) if token else -1
    return begin if begin >= 0 and begin + len(token) >= column - 1 else min(column, len(text))


def _is_known(event: PlannedEvent, btf: Btf | None, facts: TargetFacts, environment: Environment) -> bool:
    """Whether its line can be read, so that its fields are known."""
    reading = RuleContext(dialect_of(facts, btf), btf, facts, environment)
    return bool(built_events(event.lines, reading))


def _refusal(
    event: PlannedEvent,
    file: str,
    text: str,
    there: Sequence[str],
    btf: Btf | None,
    facts: TargetFacts,
    environment: Environment,
) -> Refusal | None:
    error = kernel_verdict(text, btf, facts, there, f"events/{event.path}/{file}", environment).error
    if error is not None:
        return error
    reading = RuleContext(dialect_of(facts, btf), btf, facts, environment)
    return misread_filter(event, text, reading) if file == "filter" else misread_trigger(event, text, reading)
