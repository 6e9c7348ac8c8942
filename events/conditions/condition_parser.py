"""Parse a condition on events as a person types it: `count > 4096 && (comm == cat || ret < 0)`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from events.conditions.comparison import (
    LATENCY,
    NUMERIC,
    Comm,
    InCgroup,
    NumberComparison,
    SymbolComparison,
    SymbolSource,
    TextComparison,
)
from events.conditions.condition import COMMON_FIELDS, BinaryCondition, Condition, Term
from events.conditions.errno_comparison import ERRNO, ErrnoComparison, named_error
from events.conditions.field_kinds import ValueKind
from events.conditions.file_comparison import FileComparison
from events.conditions.function_comparison import FUNC, FunctionComparison, FunctionSource
from events.conditions.named_number import NamedNumberComparison, NoNumbers, NumberSource
from events.conditions.time_comparison import TIME_HINT, TIME_OPERATORS, time_comparison
from events.names.errnos import errno_of
from events.names.event_names import CGROUP, FIELD_SYNONYMS
from events.names.number_names import names_hint
from events.store.cgroups import Cgroups

_TOKEN: Final = re.compile(
    r"""\s*
    (?: (?P<sign>&&|\|\||==|!=|<=|>=|[<>~&()!])
    | (?P<quoted>"[^"]*"|'[^']*')
    | (?P<word>[^\s&|=!<>~()"']+) )""",
    re.VERBOSE,
)
_NUMBER: Final = re.compile(r"-?(?:0[xX][0-9a-fA-F]{1,40}|0[0-7]{0,40}|[1-9][0-9]{0,39})")
"""Number in the kernel's syntax (kstrtoll, base 0): a leading 0 makes it octal."""
_DURATION: Final = re.compile(r"(-?[0-9]{1,20}(?:\.[0-9]{1,20})?)(ns|us|ms|s)")
_NANOSECONDS: Final = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_NAME: Final = re.compile(r"[A-Za-z_][\w.]*")
_TEXT_OPERATORS: Final = ("==", "!=", "~")
_MAX_DEPTH: Final = 50
_MAX_HINTS: Final = 3
_MAX_TOKENS: Final = 400
"""Maximum number of tokens."""
_NO_NUMBERS: Final = NoNumbers()
_BITS: Final = range(-(1 << 63), 1 << 64)


_DURATION_WORDS: Final = ("duration", "took", "elapsed")
"""Words that other tools and headings use for the duration of a call."""
_CONDITION_START: Final = re.compile(r"\s*+!?\s*+\(?\s*+[A-Za-z_][\w.]*+\s*+(==|!=|<=|>=|<|>|~|&)")


class ConditionError(Exception):
    """Syntax error in a condition."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at
        """Column of the error, from 0."""


class ValueRefused(ConditionError):
    """Comparison that is correct in syntax but impossible for the values of its field."""


class FieldUnknown(ConditionError):
    """Comparison of a field that no event has."""

    def __init__(self, message: str, at: int, name: str) -> None:
        super().__init__(message, at)
        self.name = name


@dataclass(frozen=True)
class _ConditionToken:
    kind: str
    text: str
    at: int


@dataclass
class _TokenReader:
    tokens: list[_ConditionToken]
    fields: Mapping[str, ValueKind]
    cgroups: Cgroups | None
    symbols: SymbolSource
    function_of: FunctionSource
    numbers: NumberSource
    place: int = 0
    depth: int = field(default=0)

    def peek(self) -> str:
        token = self.tokens[self.place]
        return token.text if token.kind == "sign" else ""

    def take(self) -> _ConditionToken:
        token = self.tokens[self.place]
        self.place += token.kind != "end"
        return token

    def either(self) -> Term:
        term = self.both()
        while self.peek() == "||":
            self.take()
            term = BinaryCondition(term, self.both(), either=True)
        return term

    def both(self) -> Term:
        term = self.one()
        while self.peek() == "&&":
            self.take()
            term = BinaryCondition(term, self.one())
        return term

    def one(self) -> Term:
        token = self.take()
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise ConditionError("this is nested too deep", token.at)
        try:
            if token.kind == "sign" and token.text == "!":
                return self.one().negated()
            if token.kind == "sign" and token.text == "(":
                term = self.either()
                closing = self.take()
                if closing.text != ")" or closing.kind != "sign":
                    raise ConditionError("a ) is missing", closing.at)
                return term
            return self.comparison(token)
        finally:
            self.depth -= 1

    def comparison(self, name: _ConditionToken) -> Term:
        if name.kind != "word" or not _NAME.fullmatch(name.text):
            raise ConditionError("a field is missing here", name.at)
        sort = self.fields.get(name.text) or COMMON_FIELDS.get(name.text)
        if sort is None:
            hint = _similar_names_hint(name.text, (*self.fields, *COMMON_FIELDS))
            raise FieldUnknown(f"no field {name.text}{hint}", name.at, name.text)
        sign, value = self.take(), self.take()
        if sign.kind != "sign" or sign.text not in (*NUMERIC, "~"):
            raise ConditionError("one of == != < <= > >= & ~ is missing", sign.at)
        if value.kind not in ("word", "quoted"):
            raise ConditionError("a value is missing", value.at)
        if sort is ValueKind.NEITHER:
            raise ValueRefused(f"{name.text} has {sort.value}: it can't be compared", name.at)
        if sort is ValueKind.TIME or (name.text == ERRNO and sort is not ValueKind.TEXT):
            return (_time if sort is ValueKind.TIME else _errno)(name, sign, value)
        if value.kind == "word" and sort is not ValueKind.TEXT and sign.text in NUMERIC:
            numeric = self.numeric_comparison(name.text, sign.text, value, sort)
            if numeric is not None:
                return numeric
        if sort is ValueKind.SYMBOL:
            if sign.text not in _TEXT_OPERATORS:
                raise ValueRefused(f"{name.text} is {sort.value}: == != ~ compare names", sign.at)
            return SymbolComparison(name.text, sign.text, _unquoted(value), self.symbols)
        if sort is ValueKind.NUMBER:
            return self.file_comparison(name.text, sign.text, value)
        if sign.text not in _TEXT_OPERATORS:
            hint = self.value_hint(name.text, value.text)
            why = f"{name.text} is a text: == != ~" if sort is ValueKind.TEXT else f"{value.text} is no number{hint}"
            raise ValueRefused(why, sign.at if sort is ValueKind.TEXT else value.at)
        text = _unquoted(value)
        if name.text in CGROUP and name.text not in self.fields:
            return InCgroup(name.text, sign.text, text, self.cgroups if self.cgroups is not None else Cgroups())
        return self.name_comparison(name.text, sign.text, text, sort)

    def value_hint(self, field: str, value: str) -> str:
        """Return the error, the similar names, else all names that a word may stand for; empty: there are none."""
        names = self.numbers.names(field)
        known = names_hint(field, names)
        return _errno_hint(value) or _similar_names_hint(value, names) or (f"; {known}" if known else "")

    def numeric_comparison(self, field: str, sign: str, value: _ConditionToken, kind: ValueKind) -> Term | None:
        """Return a comparison with a number, or with the name of one; None: the value is neither."""
        if _is_inexact(value.text):
            raise ConditionError(f"{value.text} is no whole number of nanoseconds", value.at)
        number = _number(value.text)
        if number is None:
            is_name = kind is not ValueKind.SYMBOL and value.text in self.numbers.names(field)
            return NamedNumberComparison(field, sign, value.text, self.numbers) if is_name else None
        if sign == "&" and number not in _BITS:
            raise ConditionError(f"{value.text} has more than 64 bits", value.at)
        return self.number_comparison(field, sign, number, value.text, kind)

    def file_comparison(self, field: str, sign: str, value: _ConditionToken) -> Term:
        """Return a comparison with the file of a descriptor. Raises ValueRefused for another number."""
        lack = self.numbers.files_lack(field)
        compares_texts = sign in _TEXT_OPERATORS
        if lack == "" and compares_texts:
            return FileComparison(field, sign, _unquoted(value), self.numbers)
        hint = self.value_hint(field, value.text)
        unknown = f"; its files are not known: {lack}" if lack and compares_texts else ""
        raise ValueRefused(f"{field} is a number, {value.text} is none{hint}{unknown}", value.at)

    def number_comparison(self, field: str, sign: str, number: int, text: str, kind: ValueKind) -> Term:
        """Return a comparison with a number, and with its text where the field of some events is a text."""
        numbers = NumberComparison(field, sign, number, of_error=errno_of(text) is not None)
        if kind is not ValueKind.MIXED or sign not in _TEXT_OPERATORS:
            return numbers
        return BinaryCondition(numbers, self.text_comparison(field, sign, text), either=True, by_kind=True)

    def name_comparison(self, field: str, sign: str, text: str, kind: ValueKind) -> Term:
        """Return a comparison with a text, and with names of functions where the field of some events has these."""
        texts = self.text_comparison(field, sign, text)
        if kind is not ValueKind.MIXED:
            return texts
        return BinaryCondition(texts, SymbolComparison(field, sign, text, self.symbols), either=True, by_kind=True)

    def text_comparison(self, field: str, sign: str, text: str) -> TextComparison:
        """Return a comparison with a text: of the function, where an event is on one that no field names."""
        if field == FUNC:
            return FunctionComparison(field, sign, text, self.function_of)
        return TextComparison(field, sign, text)


def _time(name: _ConditionToken, sign: _ConditionToken, value: _ConditionToken) -> Term:
    if sign.text not in TIME_OPERATORS:
        raise ValueRefused(f"{name.text} is a time: {' '.join(TIME_OPERATORS)}", sign.at)
    found = time_comparison(name.text, sign.text, value.text) if value.kind == "word" else None
    if found is None:
        hint = f"; {LATENCY} is the time of a call" if _DURATION.fullmatch(value.text) else ""
        raise ValueRefused(f"{name.text} is {TIME_HINT}{hint}", value.at)
    return found


def _errno(name: _ConditionToken, sign: _ConditionToken, value: _ConditionToken) -> Term:
    text = _unquoted(value)
    number = named_error(text)
    if number is None:
        number = _number(text)
    if number is None or sign.text not in NUMERIC:
        raise ValueRefused(
            f"{name.text} is an error, {text} is none: {name.text} == ENOENT, {name.text} != 0", value.at
        )
    of_own = NumberComparison(name.text, sign.text, number, of_error=errno_of(text) is not None)
    return ErrnoComparison(name.text, sign.text, of_own)


def _unquoted(value: _ConditionToken) -> str:
    return value.text[1:-1] if value.kind == "quoted" else value.text


def _similar_names_hint(text: str, names: Iterable[str]) -> str:
    """Return a hint with similar names; empty: there are none."""
    if text in _DURATION_WORDS:
        return f": {LATENCY} is the time of a call"
    every, meant = dict.fromkeys(names), FIELD_SYNONYMS.get(text, "")
    near = [meant] if meant in every else difflib.get_close_matches(text, every, _MAX_HINTS)
    return f": did you mean {' or '.join(near)}?" if near else ""


def _errno_hint(text: str) -> str:
    return f": -{text}" if errno_of(f"-{text}") is not None else ""


def parse_condition(
    text: str,
    fields: Mapping[str, ValueKind],
    comm: Comm,
    cgroups: Cgroups | None = None,
    symbols: SymbolSource = lambda _: None,
    function_of: FunctionSource = lambda _: "",
    numbers: NumberSource = _NO_NUMBERS,
) -> Condition:
    """Parse a condition.

    Args:
        text: comparisons `FIELD OP VALUE` with `&&`, `||`, `!` and parentheses. A value is a number, a time (`1.5ms`,
            in nanoseconds), an error name (`-EAGAIN`; of `errno` also `EAGAIN`), or a text, in quotes if it has
            blanks or operators. That of `time` is seconds of the kernel's clock.
        fields: kinds of the recorded fields by name; `comm`, `pid`, `cpu`, `time`, `event` and `cgroup` always
            exist, and so do `COMM`, `common_pid`, `CPU` and `TIME` where events have fields with the first names.
        comm: returns the task name of a thread id.
        cgroups: cgroups of tasks; None: all unknown.
        symbols: names of functions, for fields with an address in code.
        function_of: probed function by path, of events on one function, which no field names.
        numbers: named numbers of fields, and files of descriptors.

    Raises:
        ConditionError: the text is no condition; the error has the reason and the column.
    """
    reader = _TokenReader(_tokens(text), fields, cgroups, symbols, function_of, numbers)
    term = reader.either()
    rest = reader.take()
    if rest.kind != "end":
        raise ConditionError("&& or || is missing here", rest.at)
    return Condition(text, term, comm)


def condition_error(text: str, fields: Mapping[str, ValueKind], numbers: NumberSource = _NO_NUMBERS) -> str:
    """Return the error of a text that looks like a condition; empty for a valid condition, or a plain text."""
    if _CONDITION_START.match(text):
        try:
            parse_condition(text, fields, str, numbers=numbers)
        except ConditionError as error:
            return str(error)
    return ""


def quote_value(value: str) -> str:
    """Quote a text as needed for a condition.

    Raises:
        ValueError: the text contains both kinds of quotes.
    """
    if _number(value) is None and re.fullmatch(r"[^\s&|=!<>~()\"']+", value):
        return value
    mark = next((mark for mark in "\"'" if mark not in value), None)
    if mark is None:
        raise ValueError("a value with both kinds of quotes")
    return f"{mark}{value}{mark}"


def function_clause(field: str, sign: str, function: str) -> str:
    """Return the comparison of a field with a function as it is shown: `vfs_read`, `ext4_readdir [ext4]`, or its
    address in hex.
    """
    name = function.partition(" [")[0]
    return f"{field} {sign} {name if _NUMBER.fullmatch(name) else quote_value(name)}"


def number_clause(field: str, sign: str, number: int, shown: str) -> str:
    """Return the comparison of a field with a number; with the error that is shown in its place, which is another
    number in another field, or in the other half of a register.
    """
    return f"{field} {sign} {number if errno_of(shown) is None else shown}"


def free_word(words: Sequence[str], own: Container[str]) -> str:
    """Return the first of some synonyms that is not a field's name; if all are, the last, which no event has."""
    return next((word for word in words if word not in own), words[-1])


def and_condition(existing: str, clause: str) -> str:
    """Combine two conditions with `&&`; the first may be empty."""
    if not existing:
        return clause
    return f"({existing}) && {clause}" if "||" in existing else f"{existing} && {clause}"


def _tokens(text: str) -> list[_ConditionToken]:
    tokens: list[_ConditionToken] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            start = len(text) - len(text[at:].lstrip())
            raise ConditionError("== compares" if text[start] == "=" else "this can't be read", start)
        tokens.append(_ConditionToken(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
        at = match.end()
        if len(tokens) > _MAX_TOKENS:
            raise ConditionError("this is too long", at)
    return [*tokens, _ConditionToken("end", "", len(text))]


def _is_inexact(text: str) -> bool:
    """Return whether a text is a duration with a fraction of a nanosecond."""
    match = _DURATION.fullmatch(text)
    return match is not None and (Fraction(match[1]) * _NANOSECONDS[match[2]]).denominator != 1


def _number(text: str) -> int | None:
    if _NUMBER.fullmatch(text):
        octal = re.match("-?0[0-7]", text) is not None
        return int(text, 8 if octal else 0)
    if match := _DURATION.fullmatch(text):
        return int(Fraction(match[1]) * _NANOSECONDS[match[2]])
    return errno_of(text)
