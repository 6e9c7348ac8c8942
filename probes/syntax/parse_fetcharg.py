"""Parse the text of a fetcharg to its tree; errors have their column. `str()` of the tree returns the text."""

from __future__ import annotations

import re

from probes.fetcharg import (
    AllArguments,
    Argument,
    Cast,
    Comm,
    CurrentTask,
    Dereference,
    EventField,
    Expression,
    FetchArg,
    Hop,
    Immediate,
    PerCpu,
    Register,
    ReturnValue,
    Stack,
    SymbolAddress,
    Variable,
)
from probes.syntax.operand import PER_CPU, operand_of
from probes.syntax.parse_error import refuse
from probes.syntax.refused import Refused
from probes.syntax.text import is_identifier, kstrtol, kstrtoul

_HOP = re.compile(r"->(?P<arrow>[^.\-\[]*)|\.(?P<dot>[^.\-\[]*)|\[(?P<index>[^\]]*)\]")
_ARRAY = re.compile(r"0|[1-9][0-9]*")
_MOST_NESTED = 64
"""Largest number of expressions within each other, more than a kernel takes: 15 operations (FETCH_INSN_MAX)."""

_MOST_CHARACTERS = 4094
"""Characters of a command (WRITE_BUFSIZE): no kernel takes a longer argument."""


def parse_fetcharg(text: str) -> FetchArg:
    """Parse `name=expression:type`. Raises ParseError with the column in `text`."""
    if len(text) > _MOST_CHARACTERS:
        raise refuse("ARG_TOO_LONG", 0, text)
    name, has_name, body = text.partition("=")
    if not has_name:
        name, body = "", text
    elif not name:
        raise refuse("NO_ARG_NAME", 0, text)
    elif not is_identifier(name):
        raise refuse("BAD_ARG_NAME", 0, name)
    start = len(text) - len(body)
    if not body:
        raise refuse("NO_ARG_BODY", start)
    value, has_type, kind = body.partition(":")
    if has_type and not kind:
        raise refuse("BAD_TYPE", len(text))
    expression = _expression(value, start)
    if expression == AllArguments(best=True) and (has_name or has_type):
        raise refuse("BAD_VAR_ARGS", start, value)
    return FetchArg(expression, name if has_name else None, kind if has_type else None)


def _expression(text: str, at: int, depth: int = 0) -> Expression:
    """Parse an expression that begins at column `at`, within `depth` others. Raises ParseError."""
    if depth > _MOST_NESTED:
        raise refuse("TOO_MANY_OPS", at, text)
    first = text[:1]
    if first == "$":
        return _dollar(text, at)
    if first == "%":
        return Register(text[1:])
    if first == "@":
        return SymbolAddress(text[1:])
    if first == "\\":
        return _immediate(text, at)
    if first and first in "+-":
        return _dereference(text, at, depth)
    if first == "(":
        return _cast(text, at, depth)
    if first.isascii() and (first.isalpha() or first == "_"):
        if text.startswith(PER_CPU):
            return _per_cpu(text, at, depth)
        name = re.split(r"[.\-\[]", text, maxsplit=1)[0]
        return Variable(name, _path(text, len(name), at))
    raise refuse("BAD_FETCH_ARG", at, text)


def _dollar(text: str, at: int) -> Expression:
    if text == "$$args":
        return AllArguments(best=True)
    if text.startswith("$arg*"):
        return AllArguments(rest=text[5:])
    if re.match(r"\$current(?![A-Za-z0-9_])", text):
        return CurrentTask(_path(text, len("$current"), at))
    if text in ("$comm", "$COMM"):
        return Comm(text)
    if text.startswith("$retval") and text[7:8] in ("", "-", ".", "["):
        return ReturnValue(_path(text, 7, at))
    if (m := re.fullmatch(r"\$stack([0-9]*)", text)) is not None:
        return Stack(m[1])
    if (m := re.fullmatch(r"\$arg([0-9]+)", text)) is not None:
        number = kstrtoul(m[1], 10)
        if number is None:
            raise refuse("BAD_ARG_NUM", at, text)
        return Argument(number, "" if m[1] == str(number) else m[1])
    if is_identifier(text[1:]):
        return EventField(text[1:])
    raise refuse("BAD_VAR", at, text)


def _path(text: str, start: int, at: int) -> tuple[Hop, ...]:
    """Parse the steps from `start` to the end of the text. Raises ParseError."""
    hops: list[Hop] = []
    while start < len(text):
        match = _HOP.match(text, start)
        if match is None:
            raise refuse("BAD_HYPHEN" if text[start] == "-" else "bad_index", at + start, text[start:])
        index = match["index"]
        if index is not None and _ARRAY.fullmatch(index) is None:
            raise refuse("bad_index", at + start, match.group())
        name = next(part for part in match.groups() if part is not None)
        if not name:
            raise refuse("NO_BTF_FIELD", at + match.end(), "")
        hops.append(Hop("[]" if index is not None else "." if match["dot"] is not None else "->", name))
        start = match.end()
    return tuple(hops)


def _immediate(text: str, at: int) -> Immediate:
    body = text[1:]
    if body.startswith('"'):
        if len(body) < 2 or not body.endswith('"'):
            raise refuse("IMMSTR_NO_CLOSE", at + len(text), text)
        return Immediate(body)
    number = kstrtoul(body) if body[:1].isdigit() else kstrtol(body) if body[:1] == "-" else None
    if body[:1] == "+":
        number = kstrtol(body[1:])
    if number is None:
        raise refuse("BAD_IMM", at + 1, body)
    return Immediate(body)


def _cast(text: str, at: int, depth: int) -> Cast:
    struct, closing, rest = text[1:].partition(")")
    if not closing:
        raise refuse("DEREF_OPEN_BRACE", at + len(text), text)
    start = at + len(text) - len(rest)
    try:
        inner, end = operand_of(rest, start)
    except Refused as error:
        raise refuse(error.code, error.offset, error.token) from None
    bracketed = rest.startswith("(")
    name, comma, member = struct.partition(",")
    expression = _expression(inner, start + bracketed, depth + 1)
    return Cast(name, expression, _path(rest, end, start), member if comma else None, bracketed)


def _per_cpu(text: str, at: int, depth: int) -> PerCpu:
    opening, closing = text.index("("), text.rfind(")")
    if closing < 0:
        raise refuse("DEREF_OPEN_BRACE", at + len(text), text)
    inner = _expression(text[opening + 1 : closing], at + opening + 1, depth + 1)
    return PerCpu(text.startswith("this_cpu_read"), inner, text[closing + 1 :])


def _dereference(text: str, at: int, depth: int) -> Dereference:
    sign, user = text[0], text[1:2] == "u"
    opening = text.find("(")
    if opening < 0:
        raise refuse("DEREF_NEED_BRACE", at, text)
    number = text[2 if user else 1 : opening]
    if kstrtol(number if sign == "+" else f"-{number}") is None:
        raise refuse("BAD_DEREF_OFFS", at, text[:opening])
    closing = text.rfind(")")
    if closing < opening:
        raise refuse("DEREF_OPEN_BRACE", at + len(text), text)
    inner = _expression(text[opening + 1 : closing], at + opening + 1, depth + 1)
    if isinstance(inner, Comm):
        raise refuse("COMM_CANT_DEREF", at + opening + 1, str(inner))
    return Dereference(sign + number, inner, user, text[closing + 1 :])
