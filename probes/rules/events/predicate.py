"""Parse a predicate of a filter, `field OP value` (parse_pred in kernel/trace/trace_events_filter.c)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from events.names.errnos import errno_names, errno_of
from probes.facts.lookups import Environment, StaticEventField
from probes.syntax.refused import Refused
from probes.syntax.text import LETTERS, LONG_MAX, kstrtol, kstrtoul

_OPERATORS = ("==", "!=", "~", "<=", "<", ">=", ">", "&")
"""Operators, those with a prefix in common longest first."""
_NUMBER = "([0-9]+|N)"
_CPUS = re.compile(
    rf"[\s,]*(?:[aA][lL][lL](?=[\s,:]|\Z)|{_NUMBER}(?:-{_NUMBER}(?=[\s,:]|\Z)|(?=[\s,]|\Z)))(?::{_NUMBER}/{_NUMBER})?"
)
"""Pattern for a range in a list of CPUs."""
_MAX_NUMBER = 23
_MAX_STRING = 255
_SPACE = " \t\n\v\f\r"
TWO_FIELDS = "The kernel compares a field with a number or a text, not with another field"
COMMON = {
    "common_type": StaticEventField("common_type", "unsigned short", 2),
    "common_flags": StaticEventField("common_flags", "unsigned char", 1),
    "common_preempt_count": StaticEventField("common_preempt_count", "unsigned char", 1),
    "common_pid": StaticEventField("common_pid", "int", 4, signed=True),
    "CPU": StaticEventField("CPU", "cpu", 4, signed=True),
    "cpu": StaticEventField("cpu", "cpu", 4, signed=True),
    "common_cpu": StaticEventField("common_cpu", "cpu", 4, signed=True),
    "COMM": StaticEventField("COMM", "char[]", 0),
    "comm": StaticEventField("comm", "char[]", 0),
    "stacktrace": StaticEventField("stacktrace", "stacktrace", 0),
    "STACKTRACE": StaticEventField("STACKTRACE", "stacktrace", 0),
}
"""Fields of every event, and pseudo-fields outside the record (trace_events.c, trace_define_generic_fields)."""


class Predicate(NamedTuple):
    """Comparison of a field with a number or a text."""

    field: StaticEventField
    operator: str
    value: str
    """Value as written; a text with its quotes."""
    column: int
    """Column of the value in the filter, from 0."""
    is_function: bool = False
    """True if the value is the name of a function, which the field has an address in."""


class Predicates:
    """Parser of predicates on the fields of an event."""

    def __init__(
        self, fields: Mapping[str, StaticEventField] | None, environment: Environment, newer: bool, cpus: int
    ) -> None:
        self._newer = newer
        self._fields = fields
        self._environment = environment
        self._cpus = cpus
        self.parsed: list[Predicate] = []
        """Predicates parsed so far, without lists of CPUs."""

    def read(self, text: str, base: int) -> int:
        """Parse the predicate at the beginning of a text; returns its length. Raises Refused, counted from `base`."""
        match = re.match(f"[{LETTERS}0-9_]*", text)
        name = match.group() if match else ""
        if not name:
            raise Refused("ERRNO", 0, text)
        at = len(name)
        field = self._field(name)
        if field is None:
            raise Refused("FIELD_NOT_FOUND", base + at, name, names=tuple({**(self._fields or {}), **COMMON}))
        at += len(".ustring") if text.startswith(".ustring", at) else 0
        function = self._newer and text.startswith(".function", at)
        at += len(".function") if function else 0
        at = _skip(text, at)
        operator = next((op for op in _OPERATORS if text.startswith(op, at)), None)
        if operator is None:
            raise Refused("INVALID_OP", base + at, text[at:])
        at = _skip(text, at + len(operator))
        if function:
            return self._function(text, at, base, field, operator)
        if self._newer and text.startswith("CPUS", at):
            return self._cpu_list(text, at, base, field, operator)
        if text[at : at + 1] in ("'", '"'):
            end = _string(text, at, base, field, operator)
        elif re.match(r"[0-9-]", text[at:]):
            end = _number(text, at, base, field, operator)
        else:
            raise Refused("INVALID_VALUE", base + at, text[at:], hint=self._word_hint(text[at:]))
        self.parsed.append(Predicate(field, operator, text[at:end], base - 1 + at))
        return end

    def _word_hint(self, value: str) -> str:
        """Return why a word is no value; empty: no particular reason."""
        word = re.match(r"\w*", value)
        if word and errno_of(f"-{word[0]}") is not None:
            return f"An error is below 0: -{word[0]}"
        return TWO_FIELDS if word and word[0] in {**(self._fields or {}), **COMMON} else ""

    def _field(self, name: str) -> StaticEventField | None:
        if self._fields is None:
            return COMMON.get(name) or StaticEventField(name, "")
        common = COMMON.get(name)
        if common is not None and common.type == "stacktrace" and not self._newer:
            common = None
        return self._fields.get(name) or common

    def _function(self, text: str, at: int, base: int, field: StaticEventField, operator: str) -> int:
        if field.type and field.size != 8:
            raise Refused("ILLEGAL_FIELD_OP", base + at, text[at:])
        if operator not in ("==", "!="):
            raise Refused("INVALID_OP", base + at, text[at:], hint="A function is compared by == or !=")
        match = re.match(r"[0-9][A-Za-z0-9]*|\S*", text[at:])
        word = match.group() if match else ""
        end = at + len(word)
        if word[:1].isdigit():
            if len(word) > _MAX_NUMBER:
                raise Refused("OPERAND_TOO_LONG", base + end, word)
            if kstrtoul(word) is None:
                raise Refused("INVALID_VALUE", base + end, word)
            # A function begins at an address only by chance: the kernel's load address varies.
            raise Refused("NO_FUNCTION", base + end, word)
        look_up = self._environment.symbol
        if not word or (look_up is not None and not any(look_up(word))):
            raise Refused("NO_FUNCTION", base + end, word)
        self.parsed.append(Predicate(field, operator, word, base - 1 + at, is_function=True))
        return end

    def _cpu_list(self, text: str, at: int, base: int, field: StaticEventField, operator: str) -> int:
        if field.type and (_is_string(field) or field.type == "stacktrace"):
            raise Refused("ILLEGAL_FIELD_OP", base + at, text[at:])
        if operator not in ("==", "!=", "&"):
            raise Refused("ILLEGAL_FIELD_OP", base + at, text[at:])
        at += len("CPUS") + 1
        if text[at - 1 : at] != "{":
            raise Refused("MISSING_BRACE_OPEN", base + at, text[at - 1 :])
        end = text.find("}", at)
        if end < 0:
            raise Refused("MISSING_BRACE_CLOSE", base + len(text), text[at:])
        if end == at or not self._valid_cpus(text[at:end]):
            raise Refused("INVALID_CPULIST", base + end, text[at:end])
        return end + 1

    def _valid_cpus(self, text: str) -> bool:
        """Return whether a list like `0-3,8` or `0-7:1/2` is valid and has only existing CPUs (bitmap_parselist)."""
        at = 0
        while match := _CPUS.match(text, at):
            first, last, used, group = (self._number(word) for word in match.groups())
            first, last = (0, self._cpus - 1) if first is None else (first, first if last is None else last)
            used, group = (last + 1 if number is None else number for number in (used, group))
            if last >= self._cpus or first > last or not group or used > group:
                return False
            at = match.end()
        return not text[at:].strip(f"{_SPACE},")

    def _number(self, text: str | None) -> int | None:
        return self._cpus - 1 if text == "N" else None if text is None else int(text)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def is_text(field: StaticEventField) -> bool:
    """Return whether an event's field is text (filter_assign_type)."""
    kind = field.type
    return "char" in kind and ("[" in kind or kind.startswith(("__data_loc", "__rel_loc")))


def _is_string(field: StaticEventField) -> bool:
    """Return whether the kernel compares a field as text: text fields, and pointers to text."""
    return is_text(field) or field.type in ("char *", "const char *")


def _string(text: str, at: int, base: int, field: StaticEventField, operator: str) -> int:
    if operator not in ("==", "!=", "~"):
        raise Refused("ILLEGAL_FIELD_OP", base + at, text[at:])
    if field.type and not _is_string(field):
        raise Refused("EXPECT_DIGIT", base + at, text[at:])
    end = text.find(text[at], at + 1)
    if end < 0:
        raise Refused("MISSING_QUOTE", base + len(text), text[at:])
    if end - at - 1 > _MAX_STRING:
        raise Refused("OPERAND_TOO_LONG", base + end, text[at:])
    return end + 1


def _sign_hint(word: str, field: StaticEventField) -> str:
    if not word.startswith("-") or field.signed:
        return ""
    width = re.fullmatch(r"u(8|16|32|64)", field.type)
    return f"This field has no sign: nothing in it is below 0{f'; as s{width[1]} it has one' if width else ''}"


def _names_like(word: str) -> tuple[str, ...]:
    """Return the names of errors, where a word may mean an error."""
    return tuple(f"-{name}" for name in errno_names()) if re.match("-[A-Z]", word) else ()


def _number(text: str, at: int, base: int, field: StaticEventField, operator: str) -> int:
    if _is_string(field):
        raise Refused("EXPECT_STRING", base + at, text[at:])
    if operator == "~":
        raise Refused("ILLEGAL_FIELD_OP", base + at, text[at:])
    match = re.match(r"-?[A-Za-z0-9]*", text[at:])
    word = match.group() if match else ""
    end = at + len(word)
    if len(word) > _MAX_NUMBER:
        raise Refused("OPERAND_TOO_LONG", base + end, word)
    value = kstrtol(word) if field.signed or not field.type else kstrtoul(word)
    if value is None and not (not field.type and (kstrtoul(word) or 0) > LONG_MAX):
        raise Refused("ILLEGAL_INTVAL", base + at, word, names=_names_like(word), hint=_sign_hint(word, field))
    return end
