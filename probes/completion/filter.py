"""Complete a filter: recorded fields, operators that fit them, named values."""

from __future__ import annotations

import re
from typing import NamedTuple

from events.names.errnos import errno_names, errno_of
from events.names.function_choice import choice_or_any
from events.names.number_names import names_hint
from probes.completion.choice import Completion, Completions, ItemKind, Priority, ranked
from probes.completion.scope import Scope
from probes.kernel_verdict import parse_existing
from probes.lowering.arguments.field_types import btf_type
from probes.lowering.filters.filter_words import number_names
from probes.lowering.static_events import is_returned
from probes.plans.plan import Plan
from probes.rules.readers import RuleContext

_TOKEN = re.compile(
    r"""\s*(?:(?P<value>"[^"]*(?:"|$)|'[^']*(?:'|$)|-?[0-9]\w*|-\w*)
      |(?P<connective>&&|\|\||[()]|!(?![=~]))
      |(?P<operator>[=!<>]=?|[~&|])
      |(?P<name>\w+(?:\.\w*)?))""",
    re.VERBOSE,
)
_NUMERIC = (
    ("==", "is"),
    ("!=", "is not"),
    ("<", "is less than"),
    ("<=", "is at most"),
    (">", "is greater than"),
    (">=", "is at least"),
    ("&", "has one of these bits"),
)
_TEXTUAL = (("==", "is"), ("!=", "is not"), ("~", "is like: * and ? stand for anything"))
_MAX_VALUES = 100
_WORD = re.compile(r"-?\w+")


class _FilterField(NamedTuple):
    """Field that a filter may name."""

    name: str
    type: str
    """The kernel's type: `u64`, `string`."""
    about: str = ""
    btf_type: int | None = None
    is_result: bool = False
    """True for a function's return value, which may be an error."""
    functions: str = ""
    """Pattern of the functions of which one is the value; empty: another value."""
    naming: str = ""
    """Argument that names its numbers, as `StaticEventField` has it."""

    @property
    def is_text(self) -> bool:
        """True if the field is compared with text."""
        return "string" in self.type or "char" in self.type

    @property
    def operators(self) -> tuple[tuple[str, str], ...]:
        """Operators that compare the field, each with its meaning."""
        return _TEXTUAL if self.is_text else _NUMERIC[:2] if self.functions else _NUMERIC


_COMMON_FIELDS = (
    _FilterField("common_pid", "s32", "the thread that made the event"),
    _FilterField("COMM", "string", "name of the task"),
    _FilterField("CPU", "s32", "where it happened"),
)


def complete_filter(before: str, start: int, scope: Scope) -> Completions:
    """Complete the last word of `before`, which is a filter from `start` on."""
    fields = _recorded(scope)
    state, name, typed = "field", "", ""
    at = start
    while (token := _TOKEN.match(before, at)) is not None:
        at = token.end()
        if at == len(before) and _is_open(token):
            typed = token[token.lastgroup or 0]
            break
        if token.lastgroup == "name" and state == "field":
            state, name = "operator", token["name"]
        elif token.lastgroup == "operator":
            state = "value"
        elif token.lastgroup in ("value", "name"):
            state = "connective"
        else:
            state = "connective" if token["connective"] == ")" else "field"
    end = len(before)
    field = next((field for field in fields if field.name == name), None)
    if state == "field":
        items = _fields(fields, typed)
        if any(field.name == typed for field in fields):
            return Completions(end - len(typed), end, items, Priority.USUAL)
        return Completions(
            end - len(typed), end, items, Priority.NEEDED, "" if items else "no such field is recorded"
        )
    if state == "operator":
        items = tuple(
            Completion(f"{sign} ", ItemKind.WORD, sign, description=about)
            for sign, about in (field.operators if field is not None else _NUMERIC)
            if sign.startswith(typed)
        )
        return Completions(end - len(typed), end, items, Priority.NEEDED)
    if state == "value":
        return _values(field, typed, end, scope)
    words = (("&&", "and"), ("||", "or"))
    connectives = tuple(
        Completion(f"{w} ", ItemKind.WORD, w, description=about) for w, about in words if w.startswith(typed)
    )
    return Completions(end - len(typed), end, connectives, Priority.STANDS if not typed else Priority.NEEDED)


def _is_open(token: re.Match[str]) -> bool:
    """Return whether the last token may continue."""
    text = token[token.lastgroup or 0]
    return token.lastgroup != "connective" and (text[0] not in "\"'" or len(text) == 1 or text[-1] != text[0])


def _fields(fields: tuple[_FilterField, ...], typed: str) -> tuple[Completion, ...]:
    matching = (fields[n] for n in ranked([field.name for field in fields], typed))
    return tuple(Completion(f"{f.name} ", ItemKind.FIELD, f.name, f.type, description=f.about) for f in matching)


def _values(field: _FilterField | None, typed: str, end: int, scope: Scope) -> Completions:
    """Return the names of an enum's values, and of errors after a minus or for a return value."""
    start = end - len(typed)
    if field is not None and field.is_text:
        if not typed:
            return Completions(
                end, end, (Completion('"', ItemKind.VALUE, '"…"', description="text in quotes"),), Priority.NEEDED
            )
        return Completions(
            end, end, (Completion(f"{typed[0]} ", ItemKind.VALUE, f"{typed}{typed[0]}"),), Priority.NEEDED
        )
    if field is not None and field.functions:
        return _function_names(field.functions, typed, end, scope)
    names = dict(number_names(scope.btf, field.btf_type, field.naming, scope.dialect.machine)) if field else {}
    if typed.startswith("-") or (field and field.is_result and not names):
        names |= {f"-{name}": errno_of(f"-{name}") or 0 for name in errno_names()}
    values = [
        Completion(f"{name} ", ItemKind.VALUE, name, description=str(number))
        for name, number in names.items()
        if name.lower().startswith(typed.lower()) and _WORD.fullmatch(name)
    ][:_MAX_VALUES]
    if re.fullmatch(r"-?[0-9]\w*", typed):
        return Completions(start, end)
    note = "" if values else names_hint(field.name if field else "", names) or "a number"
    return Completions(start, end, tuple(values), Priority.NEEDED, note)


def _function_names(pattern: str, typed: str, end: int, scope: Scope) -> Completions:
    """Return the names of functions that a pattern has, with those that begin with the typed text first."""
    found = (function.name for query in (typed, pattern) if query for function in scope.known.functions(query))
    fits = choice_or_any(pattern).matches
    names = [name for name in dict.fromkeys(found) if fits(name)]
    items = tuple(Completion(f"{names[n]} ", ItemKind.VALUE, names[n]) for n in ranked(names, typed)[:_MAX_VALUES])
    return Completions(end - len(typed), end, items, Priority.NEEDED, "" if items else "no function has this name")


def _recorded(scope: Scope) -> tuple[_FilterField, ...]:
    """Return the fields that the event records, by the text before the filter."""
    if scope.letter == "e":
        path = scope.place.replace(".", "/")
        return tuple(
            _FilterField(
                field.name,
                field.type,
                "",
                btf_type(scope.btf, field),
                is_returned(path, field.name),
                naming=field.naming,
            )
            for field in scope.fields()
        )
    plan = scope.checked().plan
    return (*(_plan_fields(plan, scope) if plan is not None else ()), *_COMMON_FIELDS)


def _plan_fields(plan: Plan, scope: Scope) -> tuple[_FilterField, ...]:
    context = RuleContext(scope.dialect, scope.btf, scope.known.facts, scope.known.environment)
    labels = {column.name: column for event in plan.events for column in event.columns}
    fields = {
        event.function_field: _FilterField(
            event.function_field, "", "the function that an event is of", functions=column.functions
        )
        for event in plan.events
        for column in event.columns
        if column.functions and scope.dialect.btf_args  # as the check takes such a filter
    }
    for event in parse_existing([event.line for event in plan.events], context):
        for argument in event.arguments:
            column = labels.get(argument.name)
            if column is not None and not argument.elements:
                label = column.label if column.label != argument.name else ""
                fields[argument.name] = _FilterField(
                    argument.name, argument.type, label, column.btf_type, column.is_retval, naming=column.naming
                )
    return tuple(fields.values())
