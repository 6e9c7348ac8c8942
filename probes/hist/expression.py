"""Parse expressions of hist triggers: fields with modifiers, numbers, `$variables`, `+ - * /` and `-( )`.

By parse_expr, parse_atom, parse_field and their helpers in kernel/trace/trace_events_hist.c. The kernel cuts the text
in place while it parses; where that has effects, on a caret or on a variable that is parsed twice, this module has
them too.
"""

from __future__ import annotations

import re

from probes.facts.lookups import StaticEventField
from probes.hist.field import (
    HistError,
    HistField,
    HistFieldFlag,
    combine,
    create_field,
    expression_text,
    find_field,
    generic_flags,
    is_stack,
    refer,
)
from probes.hist.state import Creation, EventName
from probes.rules.events.predicate import COMMON
from probes.syntax.text import ULONG_MAX, kstrtoul

_MODIFIERS = {
    "hex": HistFieldFlag.HEX,
    "sym": HistFieldFlag.SYM,
    "symXoffset": HistFieldFlag.SYM_OFFSET,
    "syscall": HistFieldFlag.SYSCALL,
    "log2": HistFieldFlag.LOG2,
    "usecs": HistFieldFlag.USECS,
}
_MAX_SUBEXPRESSIONS = 3
_MAX_REFERENCES = 16
_UNITS = HistFieldFlag.TIMESTAMP | HistFieldFlag.USECS
_DIGIT = re.compile(r"[0-9]")


def operator_in(text: str) -> tuple[str, int]:
    """Return the operator at the root and its position: `unary` for a leading minus, empty for none."""
    minus, plus = text.rfind("-"), text.rfind("+")
    if minus == 0:
        return "unary", 0
    at = max(minus, plus)
    if at < 0:
        at = max(text.rfind("/"), text.rfind("*"))
    return (text[at], at) if at >= 0 else ("", -1)


def is_reference(text: str) -> bool:
    """Return whether a text is `$NAME`."""
    return len(text) >= 2 and text.startswith("$")


def remaining_text(text: str) -> str:
    """Return the part of a parsed expression that the kernel still sees: it wrote a NUL where it split."""
    operator, at = operator_in(text)
    if operator == "unary":
        return text[: text.rfind(")")] if ")" in text else text
    if operator:
        return remaining_text(text[:at])
    return text.partition(".")[0] if text.count(".") >= 2 and not _DIGIT.match(text) else text


class Expressions:
    """Parser of the expressions of a histogram."""

    def __init__(self, creation: Creation) -> None:
        self._creation = creation
        self._dialect = creation.state.dialect
        self._subexpressions = 0

    def read(self, text: str, flags: HistFieldFlag, variable: str | None = None) -> HistField:
        """Parse a whole expression. Raises HistError."""
        self._subexpressions = 0
        return self._expression(text, flags, variable)

    def _expression(self, text: str, flags: HistFieldFlag, variable: str | None = None) -> HistField:
        if self._subexpressions > _MAX_SUBEXPRESSIONS:
            raise self._creation.error("TOO_MANY_SUBEXPR", text)
        operator, at = operator_in(text)
        if not operator:
            return self.atom(text, flags, variable)
        self._subexpressions += 1
        if operator == "unary":
            return self._unary(text, flags, variable)
        left_text, right_text = text[:at], text[at + 1 :]
        if not left_text or not right_text:
            raise HistError("An operator needs something on both sides")
        left = self._operand(left_text)
        right = self._operand(right_text)
        return self._binary(operator, left, right, right_text, flags, variable)

    def _operand(self, text: str) -> HistField:
        operand = self._expression(text, HistFieldFlag.NONE)
        if operand.flags & HistFieldFlag.STRING:
            raise self._creation.error("INVALID_STR_OPERAND", remaining_text(text))
        return operand

    def _unary(self, text: str, flags: HistFieldFlag, variable: str | None) -> HistField:
        if self._subexpressions > _MAX_SUBEXPRESSIONS:
            raise self._creation.error("TOO_MANY_SUBEXPR", text)
        text = text[1:]
        if "(" not in text:
            raise HistError("A minus before something needs brackets: -(…)")
        text = text[1:]
        end = text.rfind(")")
        if end < 0:
            raise HistError("A bracket is not closed")
        if text[end + 1 :]:
            raise self._creation.error("UNARY_MINUS_SUBEXPR", text)
        operand = self._operand(text[:end])
        field = create_field(None, flags | HistFieldFlag.EXPR | operand.flags & _UNITS, self._dialect, variable)
        field.operands, field.operator = (operand,), "unary"
        return self._typed_like(field, operand)

    def _binary(
        self,
        operator: str,
        left: HistField,
        right: HistField,
        right_text: str,
        flags: HistFieldFlag,
        variable: str | None,
    ) -> HistField:
        left_value, right_value = _dereferenced(left), _dereferenced(right)
        if (left_value.flags ^ right_value.flags) & HistFieldFlag.USECS:
            raise self._creation.error("TIMESTAMP_MISMATCH", "")
        constant = bool(left_value.flags & right_value.flags & HistFieldFlag.CONST)
        flags |= (HistFieldFlag.CONST if constant else HistFieldFlag.EXPR) | left.flags & _UNITS
        field = create_field(None, flags, self._dialect, variable)
        if operator == "/" and right_value.flags & HistFieldFlag.CONST and not right_value.constant:
            raise self._creation.error("DIVISION_BY_ZERO", remaining_text(right_text))
        if constant:
            field.constant = combine(operator, left_value.constant, right_value.constant, right_value is right)
            return field
        field.operands, field.operator = (left, right), operator
        return self._typed_like(field, left)

    def _typed_like(self, field: HistField, like: HistField) -> HistField:
        field.type, field.size, field.signed = like.type, like.size, like.signed
        field.name = expression_text(field)
        return field

    def atom(self, text: str, flags: HistFieldFlag, variable: str | None = None) -> HistField:
        """Parse a number, a reference or a field. Raises HistError."""
        if _DIGIT.match(text):
            return self._constant(text, flags, variable)
        path, name = None, text
        if text.count(".") >= 2:
            group, event, name = text.split(".", 2)
            path = EventName(group, event)
        local = self._local(path, name)
        if local is None and is_reference(name):
            target = self._creation.find_event_variable(path, name[1:])
            reference = None if target is None else self.reference(target)
            if reference is not None:
                return reference if variable is None else self._alias(reference, variable)
            self._creation.note("VAR_NOT_FOUND", name[1:])
        return self._field(name if local is None else local, flags, variable)

    def _constant(self, text: str, flags: HistFieldFlag, variable: str | None) -> HistField:
        value = kstrtoul(text, 0, ULONG_MAX)
        if value is None:
            raise self._creation.error("EXPECT_NUMBER", text)
        field = create_field(None, flags | HistFieldFlag.CONST, self._dialect, variable)
        field.constant = value
        return field

    def _local(self, path: EventName | None, name: str) -> str | None:
        """Return the field that a variable of this command stands for, if a mere field (local_field_var_ref)."""
        if path not in (None, self._creation.hist.file) or not is_reference(name):
            return None
        for variable, expression in self._creation.definitions:
            if variable == name[1:] and not operator_in(expression)[0] and not is_reference(expression):
                return expression
        return None

    def reference(self, target: HistField) -> HistField | None:
        """Refer to a variable; None: too many references."""
        references = self._creation.hist.references
        for reference in references:
            if reference.target is target:
                return reference
        if len(references) >= _MAX_REFERENCES:
            return None
        field = refer(create_field(None, HistFieldFlag.VAR_REF, self._dialect), target, self._dialect)
        references.append(field)
        return field

    def _alias(self, reference: HistField, variable: str) -> HistField:
        field = create_field(None, HistFieldFlag.ALIAS | HistFieldFlag.VAR, self._dialect, variable)
        field.operands = (reference,)
        return refer(field, reference, self._dialect)

    def _field(self, text: str, flags: HistFieldFlag, variable: str | None) -> HistField:
        """Parse `NAME.MODIFIER` (parse_field). Raises HistError."""
        creation = self._creation
        name, dot, modifier = text.partition(".")
        flags |= self._modifier(name, modifier, flags) if dot else HistFieldFlag.NONE
        event_field = None
        special = self._special(name)
        if special:
            flags |= special
        else:
            event_field = find_field(name, creation.fields)
            generic = HistFieldFlag.NONE if event_field is not None else generic_flags(name, self._dialect)
            if event_field is None and not generic:
                raise creation.error("FIELD_NOT_FOUND", name, (*(creation.fields or ()), *COMMON))
            flags |= generic
            if generic and not (generic & HistFieldFlag.STACKTRACE and self._dialect.stack_modifier):
                event_field = StaticEventField(name, "")
        if special & HistFieldFlag.TIMESTAMP:
            creation.hist.timestamps = True
        if (
            modifier == "stacktrace"
            and self._dialect.stack_modifier
            and (event_field is None or not is_stack(event_field))
        ):
            raise creation.error("BAD_FIELD_MODIFIER", text)
        return create_field(event_field, flags, self._dialect, variable)

    def _special(self, name: str) -> HistFieldFlag:
        """Return the flags of a name that is not a field of the event; NONE: it may be a field."""
        if name == "common_timestamp":
            return HistFieldFlag.TIMESTAMP
        if name == "common_cpu":
            return HistFieldFlag.CPU
        if name == "common_stacktrace" and self._dialect.stack_field:
            return HistFieldFlag.STACKTRACE
        if name == "common_comm" and self._dialect.comm_field:
            return HistFieldFlag.COMM | HistFieldFlag.STRING
        return HistFieldFlag.HITCOUNT if name == "hitcount" and self._dialect.nohitcount else HistFieldFlag.NONE

    def _modifier(self, name: str, modifier: str, flags: HistFieldFlag) -> HistFieldFlag:
        creation = self._creation
        if modifier in _MODIFIERS:
            return _MODIFIERS[modifier]
        if modifier == "execname" and name == "common_pid":
            return HistFieldFlag.EXECNAME
        if modifier == "stacktrace" and self._dialect.stack_field:
            return HistFieldFlag.STACKTRACE
        if modifier.startswith("bucket"):
            rest = modifier.removeprefix("bucket").removeprefix("s")
            if not rest.startswith("="):
                raise creation.error("BAD_FIELD_MODIFIER", rest)
            if not kstrtoul(rest[1:], 0, ULONG_MAX):
                raise creation.error("BAD_FIELD_MODIFIER", rest[1:])
            return HistFieldFlag.BUCKET
        for word, flag in (("percent", HistFieldFlag.PERCENT), ("graph", HistFieldFlag.GRAPH)):
            if modifier.startswith(word) and not flags & (HistFieldFlag.VAR | HistFieldFlag.KEY):
                return flag
        raise creation.error("BAD_FIELD_MODIFIER", modifier)


def _dereferenced(operand: HistField) -> HistField:
    """Return the variable behind a reference; any other field itself."""
    return operand.target if operand.flags & HistFieldFlag.VAR_REF and operand.target is not None else operand
