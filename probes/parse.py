"""Text of the specification language -> values, with the place of every mistake.

The language is the kernel's own (Documentation/trace/kprobetrace.rst, fprobetrace.rst) with `$$args`, `%both` and a
filter behind ` if `; text -> tree -> text gives the same text but for white space. What one kernel says of a text is
the matter of `probes.kernel_verdict`; here only what can't be read is refused.
"""

from __future__ import annotations

import re

from probes.errors_table import message_of
from probes.fetcharg import (
    AllArguments,
    Argument,
    Comm,
    Dereference,
    EventField,
    Expression,
    FetchArg,
    Hop,
    Immediate,
    Register,
    ReturnValue,
    Stack,
    Symbol,
    Variable,
)
from probes.names import check_name, split_name
from probes.probe import Kind, Place, Probe, When
from probes.text import Word, is_identifier, kstrtol, kstrtoul, split
from probes.verdict import Refusal

_FILTER = re.compile(r"\sif(?:\s+|$)")
_HOP = re.compile(r"->(?P<arrow>[^.\-\[]*)|\.(?P<dot>[^.\-\[]*)|\[(?P<index>[^\]]*)\]")
_ARRAY = re.compile(r"0|[1-9][0-9]*")
_OWN_MESSAGES = {
    "unknown_kind": "This kind of dynamic event is not built here yet",
    "user_probe": "Probes in user-space programs are not built here yet",
    "typecast": "Typecasts are not built here yet",
    "no_place": "A probe needs a function",
    "no_filter": "No filter after 'if'",
    "bad_both": "%both is for function probes `f` and `p` at a function's entry",
    "bad_index": "An index is a number in brackets",
}


class ParseError(Exception):
    """A text that can't be read; `refusal` says where and why."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def refuse(code: str, column: int, token: str = "", hint: str = "") -> ParseError:
    """Build the error for a code of the kernel's or of our own."""
    return ParseError(Refusal(code, message_of(code) or _OWN_MESSAGES.get(code, code), column, token, hint))


def parse_fetcharg(text: str) -> FetchArg:
    """Read `name=expression:type`. Raises ParseError with the column in `text`."""
    name, found, body = text.partition("=")
    if not found:
        name, body = "", text
    elif not name:
        raise refuse("NO_ARG_NAME", 0, text)
    elif not is_identifier(name):
        raise refuse("BAD_ARG_NAME", 0, name)
    start = len(text) - len(body)
    if not body:
        raise refuse("NO_ARG_BODY", start)
    value, typed, kind = body.partition(":")
    if typed and not kind:
        raise refuse("BAD_TYPE", len(text))
    expression = _expression(value, start)
    if expression == AllArguments(best=True) and (found or typed):
        raise refuse("BAD_VAR_ARGS", start, value)
    return FetchArg(expression, name if found else None, kind if typed else None)


def _expression(text: str, at: int) -> Expression:
    """Read one expression that begins at column `at`."""
    first = text[:1]
    if first == "$":
        return _dollar(text, at)
    if first == "%":
        return Register(text[1:])
    if first == "@":
        return Symbol(text[1:])
    if first == "\\":
        return _immediate(text, at)
    if first and first in "+-":
        return _dereference(text, at)
    if first == "(":
        raise refuse("typecast", at, text)
    if first.isascii() and (first.isalpha() or first == "_"):
        if text.startswith(("this_cpu_ptr(", "this_cpu_read(")):
            raise refuse("typecast", at, text)
        name = re.split(r"[.\-\[]", text, maxsplit=1)[0]
        return Variable(name, _path(text, len(name), at))
    raise refuse("BAD_FETCH_ARG", at, text)


def _dollar(text: str, at: int) -> Expression:
    if text == "$$args":
        return AllArguments(best=True)
    if text == "$arg*":
        return AllArguments()
    if text in ("$comm", "$COMM"):
        return Comm(text)
    if text.startswith("$retval") and text[7:8] in ("", "-", ".", "["):
        return ReturnValue(_path(text, 7, at))
    if (m := re.fullmatch(r"\$stack([0-9]*)", text)) is not None:
        return Stack(m[1])
    if (m := re.fullmatch(r"\$arg([0-9]+)", text)) is not None:
        number = int(m[1])
        return Argument(number, "" if m[1] == str(number) else m[1])
    if is_identifier(text[1:]):
        return EventField(text[1:])
    raise refuse("BAD_VAR", at, text)


def _path(text: str, start: int, at: int) -> tuple[Hop, ...]:
    """Read the steps from `start` to the end of the text."""
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


def _dereference(text: str, at: int) -> Dereference:
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
    inner = _expression(text[opening + 1 : closing], at + opening + 1)
    if isinstance(inner, Comm):
        raise refuse("COMM_CANT_DEREF", at + opening + 1, str(inner))
    return Dereference(sign + number, inner, user, text[closing + 1 :])


def parse_probe(text: str) -> Probe:
    """Read a function probe: `f`, `p` or `r`, a place, fetchargs, and a filter behind ` if `.

    `f` gives `Kind.AUTO`: fprobe where the target has it. Raises ParseError with the column in the command, its words
    joined by one space.
    """
    words, condition = _words(text)
    if not words or words[0].text[0] not in "fpr":
        raise refuse("unknown_kind", 0, words[0].text if words else "")
    columns = _columns(words)
    head = words[0].text
    match = re.fullmatch(r"([fpr])([0-9]*)(?::(.*))?", head)
    if match is None:
        raise refuse("unknown_kind" if head[0] == "f" else "BAD_MAXACT", 1, head)
    if match[2] and head[0] != "r":
        raise refuse("BAD_MAXACT" if head[0] == "f" else "BAD_MAXACT_TYPE", 1, match[2])
    group = event = ""
    if match[3] is not None:
        if (bad := check_name(match[3])) is not None:
            raise refuse(bad[0], len(head) - len(match[3]) + bad[1], match[3])
        group, event = split_name(match[3])
    if len(words) < 2:
        raise refuse("no_place", len(head))
    kind = {"f": Kind.AUTO, "p": Kind.KPROBE, "r": Kind.KRETPROBE}[head[0]]
    place, when = _place(words[1].text, kind, columns[1])
    fetchargs = tuple(_at(word.text, column) for word, column in zip(words[2:], columns[2:], strict=True))
    if kind is Kind.AUTO and when is When.ENTRY and any(_wants_exit(a) for a in fetchargs):
        when = When.EXIT  # as the kernel does: `f vfs_read $retval` is a return probe
    return Probe(place, when, kind, fetchargs, condition, group=group, event=event, maxactive=match[2])


def _words(text: str) -> tuple[list[Word], str]:
    """Words of the command and the filter behind them."""
    command = text.split("#", 1)[0]
    match = _FILTER.search(command)
    if match is None:
        return split(text), ""
    condition = text[match.end() :].strip()  # a `#` in the filter stays: it isn't written with the command
    if not condition:
        raise refuse("no_filter", len(" ".join(text.split())))
    return split(text[: match.start()]), condition


def _columns(words: list[Word]) -> list[int]:
    """Column of each word in the command joined by one space."""
    columns, at = [], 0
    for word in words:
        columns.append(at)
        at += len(word.text) + 1
    return columns


def _at(word: str, column: int) -> FetchArg:
    try:
        return parse_fetcharg(word)
    except ParseError as error:
        r = error.refusal
        raise refuse(r.code, column + (r.column or 0), r.token, r.hint) from None


def _wants_exit(arg: FetchArg) -> bool:
    expression: Expression = arg.expression
    while isinstance(expression, Dereference):
        expression = expression.inner
    return isinstance(expression, ReturnValue)


def _place(text: str, kind: Kind, at: int) -> tuple[Place, When]:
    if "/" in text and kind is not Kind.AUTO:
        raise refuse("user_probe", at, text)
    symbol, percent, suffix = text.partition("%")
    when = When.EXIT if kind is Kind.KRETPROBE else When.ENTRY
    if percent:
        if suffix == "both" and kind is not Kind.KRETPROBE:
            when = When.BOTH
        elif suffix == "return":
            when = When.EXIT
        else:
            raise refuse("bad_both" if suffix == "both" else "BAD_ADDR_SUFFIX", at + len(symbol), f"%{suffix}")
    if not symbol:
        raise refuse("no_place", at)
    if kstrtoul(symbol) is not None:
        return Place(symbol), when
    module, colon, name = symbol.rpartition(":")
    name, sign, number = _split_offset(name)
    offset = kstrtol(number) if sign else 0
    if offset is None or offset < 0 or sign == "-" or not name or (offset and kind is Kind.AUTO):
        raise refuse("BAD_PROBE_ADDR", at, symbol)
    if offset and when is When.BOTH:
        raise refuse("bad_both", at + len(symbol), "%both")
    written = sign + number
    plain = f"+{offset}" if offset else ""
    return Place(name, module if colon else None, offset, "" if written == plain else written), when


def _split_offset(text: str) -> tuple[str, str, str]:
    """Split `symbol+offset` at its first sign."""
    match = re.search(r"[+-]", text)
    if match is None:
        return text, "", ""
    return text[: match.start()], match.group(), text[match.end() :]


def is_own(text: str) -> bool:
    """Whether the text uses what only probewright knows: `$$args`, `%both`, a filter, `[i]`."""
    command = text.split("#", 1)[0]
    words = split(text)
    if not words or words[0].text[0] not in "fpr":
        return False
    place = words[1].text if len(words) > 1 else ""
    return (
        place.endswith("%both")
        or _FILTER.search(command) is not None
        or any(re.search(r"(^|=|\()\$\$args$", word.text) or _OWN_INDEX.search(word.text) for word in words[2:])
    )


_OWN_INDEX = re.compile(r"^[^:\\]*[A-Za-z0-9_]\[[0-9]+\]")
