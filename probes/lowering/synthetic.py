"""Lower a synthetic event to its line. It occurs only once a trigger of another event fires it."""

from __future__ import annotations

from dataclasses import replace

from probes.command import SyntheticEvent
from probes.facts.errors_table import message_of
from probes.facts.facts import Feature, TargetFacts
from probes.plans.plan import Plan, PlanColumn, PlannedEvent
from probes.refusal import CannotLower, own_refusal
from probes.rules.deletion import SYNTHETIC
from probes.rules.events.synthetic import read_dynamic
from probes.rules.messages.hints import hint_for
from probes.syntax.refused import RefusedWord
from probes.verdict import Refusal


def lower_synthetic(event: SyntheticEvent, facts: TargetFacts) -> Plan:
    """Lower a synthetic event, as `lower` does. Its name is kept: triggers use it, and the kernel has a single
    group.
    """
    if not facts.has(Feature.SYNTHETIC_EVENTS):
        raise CannotLower(own_refusal("missing_capability", "s", 0, "This kernel has no synthetic events"))
    line = str(replace(event, prefix="s:", name=event.subject))
    try:
        parsed = read_dynamic(line, frozenset())
    except RefusedWord as error:
        refused = error.refused
        column = max(str(event).find(refused.token), 0) if refused.token else 0
        hint, _ = hint_for(refused.code, refused.token)
        raise CannotLower(Refusal(refused.code, message_of(refused.code), column, refused.token, hint)) from None
    columns = tuple(PlanColumn(name, name) for name, _ in parsed.fields)
    name = parsed.event
    return Plan(event, (PlannedEvent(SYNTHETIC, name, line, f"-:{SYNTHETIC}/{name}", columns=columns),))
