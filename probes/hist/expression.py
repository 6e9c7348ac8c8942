"""Expressions of hist triggers: fields with modifiers, numbers, `$variables`, `+ - * /` and `-( )`.

parse_expr, parse_atom, parse_field and their like in kernel/trace/trace_events_hist.c. The kernel cuts the text in
place while it reads; where that shows, in a caret or in a variable that is read twice, it does here.
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
    """Give the operator at the root and where it stands: `unary` for a leading minus, empty for none."""
    minus, plus = text.rfind("-"), text.rfind("+")
    if minus == 0:
        return "unary", 0
    at = max(minus, plus)
    if at < 0:
        at = max(text.rfind("/"), text.rfind("*"))
    return (text[at], at) if at >= 0 else ("", -1)


def is_reference(text: str) -> bool:
    """Whether it is `$NAME`."""
    return len(text) >= 2 and text.startswith("$")


def left_over(text: str) -> str:
    """What the kernel still sees of an expression that it has read: it wrote a NUL where it split."""
    operator, at = operator_in(text)
    if operator == "unary":
        return text[: text.rfind(")")] if ")" in text else text
    if operator:
        return left_over(text[:at])
    return text.partition(".")[0] if text.count(".") >= 2 and not _DIGIT.match(text) else text


class Expressions:
    """Reads the expressions of one histogram."""

    def __init__(self, creation: Creation) -> None:
        self._creation = creation
        self._dialect = creation.state.dialect
        self._subexpressions = 0

    def read(self, text: str, flags: HistFieldFlag, variable: str | None = None) -> HistField:
        """Read a whole expression. Raises Failed."""
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
            raise self._creation.error("INVALID_STR_OPERAND", left_over(text))
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
        made = create_field(None, flags | HistFieldFlag.EXPR | operand.flags & _UNITS, self._dialect, variable)
        made.operands, made.operator = (operand,), "unary"
        return self._measured(made, operand)

    def _binary(
        self,
        operator: str,
        left: HistField,
        right: HistField,
        right_text: str,
        flags: HistFieldFlag,
        variable: str | None,
    ) -> HistField:
        known_left, known_right = _known(left), _known(right)
        if (known_left.flags ^ known_right.flags) & HistFieldFlag.USECS:
            raise self._creation.error("TIMESTAMP_MISMATCH", "")
        constant = bool(known_left.flags & known_right.flags & HistFieldFlag.CONST)
        flags |= (HistFieldFlag.CONST if constant else HistFieldFlag.EXPR) | left.flags & _UNITS
        made = create_field(None, flags, self._dialect, variable)
        if operator == "/" and known_right.flags & HistFieldFlag.CONST and not known_right.constant:
            raise self._creation.error("DIVISION_BY_ZERO", left_over(right_text))
        if constant:
            made.constant = combine(operator, known_left.constant, known_right.constant, known_right is right)
            return made
        made.operands, made.operator = (left, right), operator
        return self._measured(made, left)

    def _measured(self, made: HistField, like: HistField) -> HistField:
        made.type, made.size, made.signed = like.type, like.size, like.signed
        made.name = expression_text(made)
        return made

    def atom(self, text: str, flags: HistFieldFlag, variable: str | None = None) -> HistField:
        """Read a number, a reference or a field. Raises Failed."""
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
        made = create_field(None, flags | HistFieldFlag.CONST, self._dialect, variable)
        made.constant = value
        return made

    def _local(self, path: EventName | None, name: str) -> str | None:
        """What a variable of this very command stands for, where that is a mere field (local_field_var_ref)."""
        if path not in (None, self._creation.hist.file) or not is_reference(name):
            return None
        for defined, expression in self._creation.definitions:
            if defined == name[1:] and not operator_in(expression)[0] and not is_reference(expression):
                return expression
        return None

    def reference(self, target: HistField) -> HistField | None:
        """Refer to a variable; None: too many are referred to."""
        references = self._creation.hist.references
        for reference in references:
            if reference.target is target:
                return reference
        if len(references) >= _MAX_REFERENCES:
            return None
        made = refer(create_field(None, HistFieldFlag.VAR_REF, self._dialect), target, self._dialect)
        references.append(made)
        return made

    def _alias(self, reference: HistField, variable: str) -> HistField:
        made = create_field(None, HistFieldFlag.ALIAS | HistFieldFlag.VAR, self._dialect, variable)
        made.operands = (reference,)
        return refer(made, reference, self._dialect)

    def _field(self, text: str, flags: HistFieldFlag, variable: str | None) -> HistField:
        """Read `NAME.MODIFIER` (parse_field). Raises Failed."""
        creation = self._creation
        name, dot, modifier = text.partition(".")
        flags |= self._modifier(name, modifier, flags) if dot else HistFieldFlag.NONE
        found = None
        special = self._special(name)
        if special:
            flags |= special
        else:
            found = find_field(name, creation.fields)
            generic = HistFieldFlag.NONE if found is not None else generic_flags(name, self._dialect)
            if found is None and not generic:
                raise creation.error("FIELD_NOT_FOUND", name, (*(creation.fields or ()), *COMMON))
            flags |= generic
            if generic and not (generic & HistFieldFlag.STACKTRACE and self._dialect.stack_modifier):
                found = StaticEventField(name, "")
        if special & HistFieldFlag.TIMESTAMP:
            creation.hist.timestamps = True
        if modifier == "stacktrace" and self._dialect.stack_modifier and (found is None or not is_stack(found)):
            raise creation.error("BAD_FIELD_MODIFIER", text)
        return create_field(found, flags, self._dialect, variable)

    def _special(self, name: str) -> HistFieldFlag:
        """What a name stands for that is no event's field."""
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


def _known(operand: HistField) -> HistField:
    """The variable behind a reference; anything else itself."""
    return operand.target if operand.flags & HistFieldFlag.VAR_REF and operand.target is not None else operand
