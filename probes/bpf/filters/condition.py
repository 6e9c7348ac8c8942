"""Parse a probe's filter to a tree, for a program that evaluates it before anything is recorded.

The language is that of the kernel's filters: predicates, `&&` before `||`, `!`, parentheses (process_preds in
kernel/trace/trace_events_filter.c). `probes.rules.events.filter` has checked the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from probes.facts.lookups import UNKNOWN, StaticEventField
from probes.rules.events.predicate import Predicate, Predicates
from probes.syntax.refused import Refused

_SPACE = " \t\n\v\f\r"


@dataclass(frozen=True, slots=True)
class FilterNegation:
    """Condition that holds where another does not."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class FilterJunction:
    """Conditions of which all have to hold, or one."""

    conditions: tuple[Condition, ...]
    needs_all: bool


Condition = Predicate | FilterNegation | FilterJunction


def parse_condition(text: str, fields: Mapping[str, StaticEventField]) -> Condition | None:
    """Return the tree of a filter; None: it compares what has no field (a function, a list of CPUs).

    Args:
        text: a filter that the kernel's rules accept.
        fields: fields of the event by name, without the common ones.
    """
    reader = _FilterReader(text, Predicates(fields, UNKNOWN, newer=True, cpus=1 << 13))
    try:
        condition = reader.junction("||")
    except (Refused, IndexError):
        return None
    return condition if reader.rest == "" else None


class _FilterReader:
    def __init__(self, text: str, predicates: Predicates) -> None:
        self._text = text
        self._at = 0
        self._predicates = predicates

    @property
    def rest(self) -> str:
        self._skip()
        return self._text[self._at :]

    def junction(self, operator: str) -> Condition:
        """Read conditions between `||`, or between `&&`. Raises Refused, IndexError."""
        parts = [self._operand(operator)]
        while self.rest.startswith(operator):
            self._at += len(operator)
            parts.append(self._operand(operator))
        return parts[0] if len(parts) == 1 else FilterJunction(tuple(parts), operator == "&&")

    def _operand(self, operator: str) -> Condition:
        return self.junction("&&") if operator == "||" else self._single()

    def _single(self) -> Condition:
        if self.rest.startswith("!"):
            self._at += 1
            return FilterNegation(self._single())
        if self.rest.startswith("("):
            self._at += 1
            inner = self.junction("||")
            if not self.rest.startswith(")"):
                raise IndexError
            self._at += 1
            return inner
        before = len(self._predicates.parsed)
        self._at += self._predicates.read(self.rest, 1)
        return self._predicates.parsed[before]  # IndexError: a predicate that is no comparison

    def _skip(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in _SPACE:
            self._at += 1
