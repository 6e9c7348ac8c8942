"""Check comparisons of a filter with the function of a pattern's event."""

from __future__ import annotations

import re
from collections.abc import Collection

from foreign.count_text import counted
from probes.facts.dialect import dialect_of
from probes.facts.errors_table import message_of
from probes.facts.facts import TargetFacts
from probes.lowering.filters.field_names import names_in
from probes.probe import Probe
from probes.refusal import CannotLower, own_refusal
from probes.remedies import FILTER_SHOWN
from probes.rules.messages.hints import hint_for
from probes.verdict import Refusal

_COMPARISON = re.compile(
    r"""(?:\.function)?\s*+(?P<operator>[=!<>~&]++)\s*+(?P<value>"[^"]*+"|'[^']*+'|[^\s&|()]*+)"""
)


def check_function_filter(probe: Probe, field: str, functions: Collection[str], facts: TargetFacts) -> None:
    """Check that the kernel can compare functions as the filter does, and that the pattern has those it names.

    Args:
        probe: a probe on a pattern of functions.
        field: name of the field with the function.
        functions: names that match the pattern.
        facts: features of the target.

    Raises CannotLower.
    """
    start = len(str(probe)) - len(probe.filter)
    for name in (name for name in names_in(probe.filter) if name.text == field):
        if not dialect_of(facts).function_filters:
            hint = f"The filters of this kernel compare no functions; {FILTER_SHOWN}"
            raise CannotLower(own_refusal("no_function_filter", field, start + name.column, hint))
        match = _COMPARISON.match(probe.filter, name.column + len(field))
        if match is None:
            continue
        if match["operator"] not in ("==", "!="):
            hint = f"A function is compared by == or !=; a narrower pattern than {probe.subject} takes fewer"
            message = message_of("INVALID_OP")
            column = start + match.start("operator")
            hint = f"{hint}; {FILTER_SHOWN}"
            raise CannotLower(Refusal("INVALID_OP", message, column, match["operator"], hint))
        _check_name(probe, match["value"], start + match.start("value"), functions)


def _check_name(probe: Probe, value: str, column: int, functions: Collection[str]) -> None:
    """Check that a pattern has a function of a name. Raises CannotLower."""
    if value in functions or not re.fullmatch(r"[A-Za-z_][\w.]*", value):
        return
    hint, nearest = hint_for("not_of_pattern", value, sorted(functions))
    reason = f"{value} is none of the {counted(len(functions), 'function')} of {probe.subject}"
    hint = f"{reason}; {hint[:1].lower()}{hint[1:]}" if hint else reason
    raise CannotLower(own_refusal("not_of_pattern", value, column, hint, nearest))
