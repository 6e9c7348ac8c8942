"""Correct slips in the condition after `if`."""

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
_MISSING_IF = re.compile(
    r"(?s)(?P<before>\S+ \S+ (?:.*? )??)(?P<word>(?:(?P<name>\w+)=)?(?P<value>\$?\w+(?:(?:->|\.)\w+)*)(?::[\w%]+)?)"
    r"(?: *(?P<sign>==|!=|<=|>=|<|>)| (?P<single>=)) *(?P<rest>[^\s=<>!].*)"
)
_IN_SLASHES = re.compile(r" /([^/]+)/ *$")
_WITH_UNIT = re.compile(r"(\d+)([kKMG])(?:iB?)?(?!\w)")
_PATH = re.compile(r"(?<!\w)[A-Za-z_]\w*+->\w++(?:(?:->|\.)\w++)*+")
_POWERS: Final = {"k": 1, "K": 1, "M": 2, "G": 3}
_OPERATORS: Final = (("===", "=="), (r"(?<![=!<>])=(?![=<>])", "=="), ("=>", ">="), ("=<", "<="), ("<>", "!="))


def without_paths(condition: str) -> Iterator[tuple[str, str]]:
    """Yield each path of a condition, `file->f_mode`, and the condition with the field's name in its place."""
    for path in dict.fromkeys(_PATH.findall(_QUOTED.sub("", condition))):
        yield path, condition.replace(path, re.split(r"->|\.", path)[-1])


def filter_in_slashes(slip: Slip) -> Iterator[str]:
    """Yield `if count > 5` for `/count > 5/`, as in bpftrace."""
    if FILTER not in slip.text and (match := _IN_SLASHES.search(slip.text)) is not None:
        yield f"{slip.text[: match.start()]} if {match[1].strip()}"


def quotes(slip: Slip) -> Iterator[str]:
    """Yield the value in quotes; not for the name of another field, which would become text."""
    if slip.error.hint == TWO_FIELDS:
        return
    rest = slip.error.token  # from the value on; the column may be after it
    at = len(slip.text) - len(rest) if slip.text.endswith(rest) else slip.column
    match = _BARE_VALUE.match(slip.text, at)
    if match is not None:
        yield f'{slip.text[: match.start()]}"{match[0]}"{slip.text[match.end() :]}'


def operator(slip: Slip) -> Iterator[str]:
    """Yield the condition with the operators in C: `==` for `=`, `&&` for `and` and the like."""

    def to_c_operators(condition: str) -> str:
        for wrong, right in _OPERATORS:
            condition = re.sub(wrong, right, condition)
        return re.sub(r"\bor\b", "||", re.sub(r"\band\b", "&&", condition))

    yield slip.conditioned(lambda condition: _outside_quotes(condition, to_c_operators))


def _outside_quotes(condition: str, change: Callable[[str], str]) -> str:
    """Change a condition outside of its quotes, which are every second piece."""
    pieces = _QUOTED.split(condition)
    return "".join(piece if number % 2 else change(piece) for number, piece in enumerate(pieces))


def _mixes_operators(slip: Slip) -> bool:
    """Return whether the place of a bracket would change the meaning of the condition."""
    signs = _QUOTED.sub("", slip.condition)
    return "&&" in signs and "||" in signs


def closing_bracket(slip: Slip) -> Iterator[str]:
    """Yield the text with a closing bracket."""
    if not _mixes_operators(slip):
        yield f"{slip.text})"


def opening_bracket(slip: Slip) -> Iterator[str]:
    """Yield the text with an opening bracket, then without its last closing one."""
    if _mixes_operators(slip):
        return
    yield slip.conditioned(lambda condition: f"({condition}")
    if slip.text.endswith(")"):
        yield slip.text[:-1]


def quote(slip: Slip) -> Iterator[str]:
    """Yield the text with a closing quote, after its word, or at the end if no operator follows."""
    mark, following = slip.text[slip.column : slip.column + 1], slip.text[slip.column + 1 :]
    if mark not in ("'", '"') or "'" in following or '"' in following:
        return
    word = _UNQUOTED_WORD.match(following)
    if word is not None:
        end = slip.column + 1 + word.end()
        yield f"{slip.text[:end]}{mark}{slip.text[end:]}"
    if not re.search(r"[&|()<>=~!]", following):
        yield f"{slip.text}{mark}"


def no_condition(slip: Slip) -> Iterator[str]:
    """Yield the text without an `if` at its end."""
    yield slip.text.removesuffix("if").rstrip()


def missing_if(slip: Slip) -> Iterator[str]:
    """Yield an `if` before a comparison after an argument: `count > 10`."""
    match = _MISSING_IF.fullmatch(slip.text)
    if match is None or FILTER in slip.text:
        return
    last = re.split(r"->|\.", match["value"].removeprefix("$"))[-1]
    name = match["name"] or ("ret" if last == "retval" else last)  # default name of the field, unless another has it
    if len(re.findall(rf"\b{name}\b", match["before"])) == 0:
        sign = match["sign"] or "=="
        yield f"{match['before']}{match['word']} if {name} {sign} {match['rest']}"


def wider(slip: Slip) -> Iterator[str]:
    """Yield wider types for a field that is compared with a number too large for its type."""
    field = _COMPARED.search(slip.text[: slip.column])
    argument = field and re.search(rf" (?:{field[1]}=\S+|\S*\b{field[1]}):([usx])(?:8|16|32)(?= )", slip.text)
    if argument:
        for bits in (16, 32, 64):
            yield f"{slip.text[: argument.end(1)]}{bits}{slip.text[argument.end() :]}"


def signed(slip: Slip) -> Iterator[str]:
    """Yield a signed type for a field, or for a pattern's `$retval`, that is compared with a negative number."""
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
    """Yield the name of an error with its minus."""
    if errno_of(f"-{_word_at(slip)}") is not None:
        yield f"{slip.text[: slip.column]}-{slip.text[slip.column :]}"


def _word_at(slip: Slip) -> str:
    match = _BARE_VALUE.match(slip.text, slip.column)
    return match[0] if match else ""


def number(slip: Slip) -> Iterator[str]:
    """Yield the number of bytes for `4k`."""
    match = _WITH_UNIT.match(slip.text, slip.column)
    if match is not None:
        value = int(match[1]) << 10 * _POWERS[match[2]]
        yield f"{slip.text[: slip.column]}{value}{slip.text[match.end() :]}"
