"""Read the names of a field's numbers from an event's print format: `__print_symbolic`, `__print_flags`.

`__print_flags(REC->flags, "|", {0x1, "EXCL"}, {(1UL << (3)), "NOWAIT"})`: include/trace/stages/stage3_trace_output.h.
A number is a constant expression of C, of which the kernel has replaced most macros and enumerators by their values.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from events.names.number_names import NamedNumber, NumberNames

Constant = Callable[[str], int | None]
"""Returns the value of a name of C, as an enumerator's; None: it is unknown."""

_CALL = re.compile(
    r"(?:\(?REC->(?P<tested>\w+)\)? \? )?"
    r"__print_(?P<kind>symbolic|flags)(?:_u64)?\(\s*+(?:\([\w ]++\)\s*+)?REC->(?P<field>\w+)\s*+,(?P<pairs>.*)\)"
    r"(?(tested) : \"(?P<none>[^\"]*)\")",
    re.DOTALL,
)
_SEPARATOR = re.compile(r'\s*+"([^"]*)"\s*+,')
_PAIR = re.compile(r'\{([^{}",]*+),\s*+"([^"]*)"\s*+\}')
_TOKEN = re.compile(r"(0[xX][0-9a-fA-F]++|\d++)[uUlL]*+|([A-Za-z_]\w*+)|(<<|[-+~|&()])")
_TYPE = re.compile(r"\(\s*+(?:unsigned|signed|int|long|char|short|u\d\d?|s\d\d?|__u\d\d?|\w+_t)(?:\s++\w++)*+\s*+\)")
_BITS = 64
_DEEPEST = 60
"""Brackets within brackets that are read; the kernel's own have about 20."""
_LONGEST = 4_000
"""Characters of an expression that are read; the kernel's own have about 500."""


def field_of_names(argument: str) -> str:
    """Return the field whose numbers an argument of a print format names; empty: it names none of a whole field."""
    found = _CALL.fullmatch(argument)
    return found["field"] if found else ""


def parse_names(argument: str, constant: Constant = lambda _: None) -> NumberNames | None:
    """Read the names of numbers from an argument of a print format.

    Args:
        argument: `__print_symbolic(REC->vec, { 0, "HI" }, { 1, "TIMER" })`.
        constant: of names that the kernel left as they are.

    Returns:
        The names, without those of numbers that can't be computed; None: there are none.
    """
    found = _CALL.fullmatch(argument)
    if found is None:
        return None
    are_flags, pairs = found["kind"] == "flags", found["pairs"]
    if are_flags:
        separator = _SEPARATOR.match(pairs)
        pairs = pairs[separator.end() :] if separator else ""
    named = tuple(
        NamedNumber(number, name)
        for text, name in _PAIR.findall(pairs)
        if name and (number := constant_value(text, constant)) is not None
    )
    return NumberNames(named, are_flags=are_flags, fallback=found["none"] or "") if named else None


def constant_value(text: str, constant: Constant = lambda _: None) -> int | None:
    """Return the value of a constant expression of C with `|`, `&`, `<<`, `+`, `-`, `~`, brackets and casts.

    Casts are left out: the values fit. None: something else is in it, or a name is unknown.
    """
    if len(text) > _LONGEST:
        return None
    try:
        reader = _Expression(_TYPE.sub(" ", text), constant)
        value = reader.value(0, 0)
    except _Unreadable:
        return None
    return value if reader.ended else None


class _Unreadable(Exception):
    pass


_LEVELS = (("|",), ("&",), ("<<",), ("+", "-"))
"""Operators, those that bind least first."""


class _Expression:
    """Constant expression that is being read."""

    def __init__(self, text: str, constant: Constant) -> None:
        self._tokens = [match.groups() for match in _TOKEN.finditer(text)]
        if _TOKEN.sub("", text).strip():
            raise _Unreadable
        self._at = 0
        self._constant = constant

    @property
    def ended(self) -> bool:
        """True if all was read."""
        return self._at == len(self._tokens)

    def value(self, level: int, depth: int) -> int:
        """Return the value of what stands next, up to an operator that binds less. Raises _Unreadable."""
        if level == len(_LEVELS):
            return self._unary(depth)
        value = self.value(level + 1, depth)
        while not self.ended and (sign := self._tokens[self._at][2]) in _LEVELS[level]:
            self._at += 1
            other = self.value(level + 1, depth)
            value = _computed(value, sign, other)
        return value

    def _unary(self, depth: int) -> int:
        if self.ended or depth > _DEEPEST:
            raise _Unreadable
        digits, name, sign = self._tokens[self._at]
        self._at += 1
        if digits:
            return _number(digits)
        if name:
            known = self._constant(name)
            if known is None:
                raise _Unreadable
            return known
        if sign == "(":
            value = self.value(0, depth + 1)
            if self.ended or self._tokens[self._at][2] != ")":
                raise _Unreadable
            self._at += 1
            return value
        if sign not in ("-", "~"):
            raise _Unreadable
        value = self._unary(depth + 1)
        return -value if sign == "-" else ~value


def _number(digits: str) -> int:
    octal = digits[0] == "0" and digits.isdecimal()
    try:
        return int(digits, 8 if octal else 0)
    except ValueError:
        raise _Unreadable from None


def _computed(left: int, sign: str, right: int) -> int:
    if sign == "|":
        return left | right
    if sign == "&":
        return left & right
    if sign == "<<":
        if not 0 <= right < _BITS:
            raise _Unreadable
        return (left << right) & ((1 << _BITS) - 1)
    return left + right if sign == "+" else left - right
