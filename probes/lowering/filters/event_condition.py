"""Check a condition on the fields of an existing event, and write it in the kernel's words."""

from __future__ import annotations

from collections.abc import Mapping

from btf.btf import Btf
from probes.facts.dialect import Dialect
from probes.facts.errors_table import message_of
from probes.facts.lookups import Environment, StaticEventField, symbol_count
from probes.lowering.arguments.field_types import btf_type
from probes.lowering.filters.filter_words import (
    NO_VALUE,
    kernel_filter,
    number_names,
    value_advice,
    word_column,
    written_column,
)
from probes.refusal import CannotLower
from probes.rules.events.filter import check_filter
from probes.rules.events.filter_meaning import misread
from probes.rules.messages.hints import hint_for
from probes.syntax.refused import RefusedWord
from probes.verdict import Refusal


def checked_condition(
    text: str,
    start: int,
    group: str,
    fields: Mapping[str, StaticEventField] | None,
    btf: Btf | None,
    environment: Environment,
    dialect: Dialect,
    cpus: int,
) -> str:
    """Return a condition as written for the kernel.

    Args:
        text: the condition.
        start: column in the probe's text where the condition begins.
        group: the event's group.
        fields: the event's fields, without the common ones; None: unknown.
        btf: types of the target; None: unknown.
        environment: for names of functions.
        dialect: the kernel's parser.
        cpus: number of CPUs.

    Raises CannotLower: the kernel rejects the condition, or would match other events than it says.
    """
    names = {
        name: number_names(btf, btf_type(btf, one), one.naming, dialect.machine)
        for name, one in (fields or {}).items()
    }
    lowered = kernel_filter(text, fields, names, group)
    try:
        predicates = check_filter(lowered, fields, environment, dialect, cpus)
    except RefusedWord as error:
        refused = error.refused
        word = refused.token.partition(" ")[0] if refused.code == NO_VALUE else refused.token
        advice = value_advice(refused.code, text, word, names)
        hint, nearest = hint_for(refused.code, word, refused.names, refused.hint or advice.hint, advice.similar)
        column = start + written_column(text, lowered, word_column(lowered, refused.offset, refused.token))
        message = message_of(refused.code) or refused.code
        raise CannotLower(Refusal(refused.code, message, column, word, hint, nearest)) from None
    refusal = misread(predicates, dialect.function_filters, lambda name: symbol_count(name, environment))
    if refusal is not None and refusal.column is not None:
        column = start + written_column(text, lowered, refusal.column)
        raise CannotLower(Refusal(refusal.code, refusal.message, column, refusal.token, refusal.hint))
    return lowered
