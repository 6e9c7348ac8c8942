"""Slips in the condition behind `if`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from events.names.errnos import errno_of
from probes.corrections.slip import FILTER, Slip
from probes.rules.events.predicate import TWO_FIELDS

_BARE_VALUE = re.compile(r"[^\s\"'&|()]+")
_COMPARED = re.compile(r"(?<!\w)(\w++)\s*+(?:==|!=|<=|>=|<|>|&)\s*+$")
_QUOTED = re.compile(r"""("[^"]*"|'[^']*')""")
_UNQUOTED_WORD = re.compile(r"[^\s&|()]+")
_UNSAID = re.compile(
    r"(?s)(?P<before>\S+ \S+ (?:.*? )??)(?P<word>(?:(?P<name>\w+)=)?(?P<value>\$?\w+(?:(?:->|\.)\w+)*)(?::[\w%]+)?)"
    r"(?: *(?P<sign>==|!=|<=|>=|<|>)| (?P<single>=)) *(?P<rest>[^\s=<>!].*)"
)
_SLASHED = re.compile(r" /([^/]+)/ *$")
_BINARY = re.compile(r"(\d+)([kKMG])(?:iB?)?(?!\w)")
_POWERS: Final = {"k": 1, "K": 1, "M": 2, "G": 3}
_OPERATORS: Final = (("===", "=="), (r"(?<![=!<>])=(?![=<>])", "=="), ("=>", ">="), ("=<", "<="), ("<>", "!="))


def slashed(slip: Slip) -> Iterator[str]:
    """`/count > 5/`, as bpftrace has it."""
    if FILTER not in slip.text and (found := _SLASHED.search(slip.text)) is not None:
        yield f"{slip.text[: found.start()]} if {found[1].strip()}"


def quotes(slip: Slip) -> Iterator[str]:
    """Text without quotes; of another field the text would be its name."""
    if slip.error.hint == TWO_FIELDS:
        return
    rest = slip.error.token  # from the value on; the column may be behind it
    at = len(slip.text) - len(rest) if slip.text.endswith(rest) else slip.column
    found = _BARE_VALUE.match(slip.text, at)
    if found is not None:
        yield f'{slip.text[: found.start()]}"{found[0]}"{slip.text[found.end() :]}'


def operator(slip: Slip) -> Iterator[str]:
    """`=` for `==`, `and` for `&&`, and their like."""

    def as_in_c(condition: str) -> str:
        for wrong, right in _OPERATORS:
            condition = re.sub(wrong, right, condition)
        return re.sub(r"\bor\b", "||", re.sub(r"\band\b", "&&", condition))

    yield slip.conditioned(lambda condition: _outside_quotes(condition, as_in_c))


def _outside_quotes(condition: str, change: Callable[[str], str]) -> str:
    """Change what is not text: every second piece is."""
    pieces = _QUOTED.split(condition)
    return "".join(piece if number % 2 else change(piece) for number, piece in enumerate(pieces))


def _mixed(slip: Slip) -> bool:
    """Whether a bracket changes what is meant by where it stands."""
    signs = _QUOTED.sub("", slip.condition)
    return "&&" in signs and "||" in signs


def closed(slip: Slip) -> Iterator[str]:
    """A bracket that is not closed."""
    if not _mixed(slip):
        yield f"{slip.text})"


def opened(slip: Slip) -> Iterator[str]:
    """A bracket that was never opened."""
    if _mixed(slip):
        return
    yield slip.conditioned(lambda condition: f"({condition}")
    if slip.text.endswith(")"):
        yield slip.text[:-1]


def quote(slip: Slip) -> Iterator[str]:
    """Text that is not closed: it ends with its word, or where no sign follows that is none of a text."""
    mark, behind = slip.text[slip.column : slip.column + 1], slip.text[slip.column + 1 :]
    if mark not in ("'", '"') or "'" in behind or '"' in behind:
        return
    word = _UNQUOTED_WORD.match(behind)
    if word is not None:
        end = slip.column + 1 + word.end()
        yield f"{slip.text[:end]}{mark}{slip.text[end:]}"
    if not re.search(r"[&|()<>=~!]", behind):
        yield f"{slip.text}{mark}"


def no_condition(slip: Slip) -> Iterator[str]:
    """An `if` with nothing behind it."""
    yield slip.text.removesuffix("if").rstrip()


def unsaid(slip: Slip) -> Iterator[str]:
    """A comparison behind an argument, without the `if`: `count > 10`."""
    found = _UNSAID.fullmatch(slip.text)
    if found is None or FILTER in slip.text:
        return
    last = re.split(r"->|\.", found["value"].removeprefix("$"))[-1]
    name = found["name"] or ("ret" if last == "retval" else last)  # the field is called so, unless another one is
    if len(re.findall(rf"\b{name}\b", found["before"])) == 0:
        sign = found["sign"] or "=="
        yield f"{found['before']}{found['word']} if {name} {sign} {found['rest']}"


def wider(slip: Slip) -> Iterator[str]:
    """A number that needs more bits than the field's type has: the same type with more."""
    field = _COMPARED.search(slip.text[: slip.column])
    argument = field and re.search(rf" (?:{field[1]}=\S+|\S*\b{field[1]}):([usx])(?:8|16|32)(?= )", slip.text)
    if argument:
        for bits in (16, 32, 64):
            yield f"{slip.text[: argument.end(1)]}{bits}{slip.text[argument.end() :]}"


def signed(slip: Slip) -> Iterator[str]:
    """A number below 0 for a value without a sign, and one that a pattern's functions return."""
    field = _COMPARED.search(slip.text[: slip.column])
    if field is None or not _word_at(slip).startswith("-"):
        return
    typed = re.search(rf" (?:{field[1]}=\S+|\S*\b{field[1]}|\$retval):([ux])(?:8|16|32|64)(?= )", slip.text)
    bare = re.search(r" (?:\w+=)?\$retval(?= )", slip.text)
    if typed:
        yield f"{slip.text[: typed.start(1)]}s{slip.text[typed.end(1) :]}"
    elif bare:
        yield f"{slip.text[: bare.end()]}:s32{slip.text[bare.end() :]}"


def error(slip: Slip) -> Iterator[str]:
    """The name of an error without its minus."""
    if errno_of(f"-{_word_at(slip)}") is not None:
        yield f"{slip.text[: slip.column]}-{slip.text[slip.column :]}"


def _word_at(slip: Slip) -> str:
    found = _BARE_VALUE.match(slip.text, slip.column)
    return found[0] if found else ""


def number(slip: Slip) -> Iterator[str]:
    """`4k` of bytes."""
    found = _BINARY.match(slip.text, slip.column)
    if found is not None:
        value = int(found[1]) << 10 * _POWERS[found[2]]
        yield f"{slip.text[: slip.column]}{value}{slip.text[found.end() :]}"
