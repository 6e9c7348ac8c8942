"""Represent a value of a bpftrace script: an expression, and the conversion of printf that shows it."""

from __future__ import annotations

import re
from typing import NamedTuple

from probes.export.dialect import CannotExport

_NUMBER = re.compile(r"([usx])(8|16|32|64)")
_SIGNED = {"8": "%hhd", "16": "%hd", "32": "%d", "64": "%lld"}


class BpftraceValue(NamedTuple):
    """A value in bpftrace."""

    format: str
    """Conversion for printf: `name=%d` without the name."""
    values: tuple[str, ...]
    """Expressions for the conversion."""
    compared: str = ""
    """Expression in a filter; empty: a filter can't name the value."""
    is_text: bool = False
    by_offset: bool = False
    """True if it is read at offsets that hold for one kernel only."""


COMM = BpftraceValue('\\"%s\\"', ("comm",), "comm", is_text=True)


def text(expression: str, *, by_offset: bool = False) -> BpftraceValue:
    """Return a text, of an expression that is one in bpftrace."""
    return BpftraceValue('\\"%s\\"', (expression,), expression, is_text=True, by_offset=by_offset)


def number(expression: str, kind: str, own: str = "") -> BpftraceValue:
    """Return a number. Raises CannotExport for a type without a counterpart.

    Args:
        expression: the number.
        kind: fetcharg type to show it with: `s64`, `x8`, `char`, `symbol`.
        own: fetcharg type that the expression has in bpftrace; empty: 64 bits without a sign.
    """
    if kind in ("symbol", "symstr"):
        return BpftraceValue("%s", (f"ksym({expression})",))
    if kind == "char":
        cast = expression if own in ("s8", "u8") else f"(int8){bracketed(expression)}"
        return BpftraceValue("'%c'", (cast,), cast)
    match = _NUMBER.fullmatch(kind)
    if match is None:
        raise CannotExport(f"type {kind} has no counterpart")
    sign, bits = match.groups()
    cast = _cast(expression, sign, bits, own or "u64")
    if sign == "s":
        return BpftraceValue(_SIGNED[bits], (cast,), cast)
    conversion = "ll" * (bits == "64") + ("u" if sign == "u" else "x")
    return BpftraceValue(f"{'0x' * (sign == 'x')}%{conversion}", (cast,), cast)


def _cast(expression: str, sign: str, bits: str, own: str) -> str:
    """Return an expression of a type's width and sign, with a cast where it has another one."""
    if own[1:] == bits and (own[0] == "s") == (sign == "s"):
        return expression
    return f"({'' if sign == 's' else 'u'}int{bits}){bracketed(expression)}"


def bracketed(expression: str) -> str:
    """Return an expression that a cast or an operator can stand before."""
    return expression if re.fullmatch(r"(?:\w|->|[.\[\]])++", expression) else f"({expression})"
