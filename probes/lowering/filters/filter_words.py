"""Write a filter in the kernel's words: numbers for names of errors and enum values, patterns as they are meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from btf.btf import Btf
from btf.enumerators import enumerator_value
from btf.types import Enum, Enum64
from btf.walk import strip
from events.names.constants import names_of
from events.names.errnos import errno_of
from events.names.number_names import names_hint
from probes.facts.lookups import StaticEventField
from probes.rules.events.filter_meaning import kernel_pattern
from probes.rules.events.predicate import COMMON, is_text

_QUOTED = r"""(?:"[^"]*"|'[^']*')"""
_OPERATOR = r"(?:==|!=|<=|>=|[~<>]|&(?!&))"
_PREDICATE = re.compile(
    rf"""{_QUOTED}
      | (?P<field>[A-Za-z_]\w*)(?P<suffix>\.\w+)?\s*(?P<operator>{_OPERATOR})\s*
        (?P<value>{_QUOTED}|-?[A-Za-z_]\w*)""",
    re.VERBOSE,
)
_WORD = re.compile(rf"{_QUOTED}|-?\w+(?:\.\w+)?|\S")
NO_VALUE = "INVALID_VALUE"
"""Error of the kernel for a word in place of a value."""
_LEAST_SIMILARITY = 0.75
_MOST_SIMILAR = 3
_BIT_OPERATORS = ("==", "!=", "&")
"""Operators for which a number means the bits of the field."""
_UNSIGNED_ERRORS = (4, 8)
"""Widths in bytes of unsigned fields that may hold an error: a pointer or a `u32` from one."""
_SYSCALLS = "syscalls"
_INTS = ("int", "unsigned int")
_INT_SIZE = 4

Names = Mapping[str, Mapping[str, int]]
"""Named values by field."""


def kernel_filter(text: str, fields: Mapping[str, StaticEventField] | None, names: Names, group: str = "") -> str:
    """Return a filter as written for the kernel; unknown names stay as they are.

    Args:
        text: the filter.
        fields: the event's fields, without the common ones; None: unknown.
        names: named values of its enum fields.
        group: the event's group; texts of system calls are in the task's memory.
    """

    def lower(match: re.Match[str]) -> str:
        name = match["field"]
        if name is None:
            return match[0]
        field = (
            (fields or {}).get(name) or COMMON.get(name) or (StaticEventField(name, "") if fields is None else None)
        )
        if field is None or match["suffix"] == ".function":
            return match[0]
        before, value = match[0][: match.start("value") - match.start()], match["value"]
        if value[0] not in "\"'":
            return before + _number(field, match["operator"], value, names.get(name, {}))
        if group == _SYSCALLS and field.type in ("char *", "const char *") and not match["suffix"]:
            before = f"{name}.ustring{before[len(name) :]}"
        if match["operator"] == "~":
            value = f"{value[0]}{kernel_pattern(value[1:-1], field)}{value[0]}"
        return before + value

    return _PREDICATE.sub(lower, text)


def word_column(text: str, column: int, token: str) -> int:
    """Return the column where a filter's wrong word begins: the kernel's caret is one column later, or behind it."""
    if token and text.startswith(token, column - 1):
        return column - 1
    start = text.rfind(token, 0, column + 1) if token else -1
    return start if start >= 0 and start + len(token) >= column - 1 else min(column, len(text))


def written_column(written: str, lowered: str, column: int) -> int:
    """Return the column in the filter as written for a column in the lowered filter: each word has a counterpart."""
    if written == lowered:
        return column
    lowered_words, written_words = list(_WORD.finditer(lowered)), list(_WORD.finditer(written))
    number = sum(word.start() <= column for word in lowered_words) - 1
    if number < 0 or number >= len(written_words):
        return len(written)
    offset = column - lowered_words[number].start()
    return written_words[number].start() + (offset if lowered_words[number][0] == written_words[number][0] else 0)


def enum_names(btf: Btf | None, type_id: int | None) -> Mapping[str, int]:
    """Return an enum's values by name; empty where the type is no enum."""
    kind = btf.type(strip(btf, type_id)) if btf is not None and type_id else None
    return {value.name: value.value for value in kind.values} if isinstance(kind, Enum | Enum64) else {}


def number_names(btf: Btf | None, type_id: int | None, naming: str, machine: str) -> Mapping[str, int]:
    """Return the named values of a field: those that its event prints, else those of its enum; empty: none.

    Args:
        btf: types of the target; None: unknown.
        type_id: type of the field; None: unknown.
        naming: as `StaticEventField` has it.
        machine: `uname -m` of the target.
    """
    constant = partial(enumerator_value, btf) if btf is not None else lambda _: None
    named = names_of(naming, machine, constant) if naming else None
    return named.numbers if named is not None else enum_names(btf, type_id)


class ValueAdvice(NamedTuple):
    """Names that a refused word of a filter may stand for."""

    hint: str = ""
    """Sentence on the names that its field takes; empty: it has none, or the word is no value."""
    similar: tuple[str, ...] = ()
    """Named values that the word is similar to."""


def value_advice(refusal_code: str, condition: str, word: str, names: Names) -> ValueAdvice:
    """Return advice on a refused word in place of a value; names of the compared field go before those of others."""
    if refusal_code != NO_VALUE or not word:
        return ValueAdvice()
    compared = re.search(rf"(\w+)(?:\.\w+)?\s*{_OPERATOR}\s*{re.escape(word)}(?!\w)", condition)
    field = compared[1] if compared is not None else ""
    own = names.get(field, {})
    known = {name.lower(): name for values in names.values() for name in values if name != word}
    low = {name.lower(): name for name in own}
    similar = [
        low[name] for name in difflib.get_close_matches(word.lower(), low, _MOST_SIMILAR, _LEAST_SIMILARITY)
    ] or [known[name] for name in difflib.get_close_matches(word.lower(), known, 1, _LEAST_SIMILARITY)]
    return ValueAdvice(names_hint(field, own), tuple(similar))


def _number(field: StaticEventField, operator: str, word: str, names: Mapping[str, int]) -> str:
    number = names.get(word, errno_of(word))
    if number is None or is_text(field) or operator == "~":
        return word
    bits = 8 * field.size
    if field.type and field.signed and bits and operator in _BIT_OPERATORS and number >> bits - 1 == 1:
        number -= 1 << bits
    elif field.type and not field.signed and number < 0:
        if word in names and field.type in _INTS and field.size > _INT_SIZE:
            return word  # A program's compiler decides what is above its 32 bits, so that no one number is this.
        if operator not in _BIT_OPERATORS[:2] or field.size not in _UNSIGNED_ERRORS:
            return word
        number += 1 << bits
    return str(number)
