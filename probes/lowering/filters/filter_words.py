"""A filter in words that the kernel reads: numbers for names of errors and of enums, patterns as they are meant."""

from __future__ import annotations

import re
from collections.abc import Mapping

from btf.btf import Btf
from btf.types import Enum, Enum64
from btf.walk import strip
from events.names.errnos import errno_of
from probes.facts.lookups import StaticEventField
from probes.rules.events.filter_meaning import pattern_as_meant
from probes.rules.events.predicate import COMMON, is_text

_QUOTED = r"""(?:"[^"]*"|'[^']*')"""
_PREDICATE = re.compile(
    rf"""{_QUOTED}
      | (?P<field>[A-Za-z_]\w*)(?P<suffix>\.\w+)?\s*(?P<operator>==|!=|<=|>=|[~<>]|&(?!&))\s*
        (?P<value>{_QUOTED}|-?[A-Za-z_]\w*)""",
    re.VERBOSE,
)
_WORD = re.compile(rf"{_QUOTED}|-?\w+(?:\.\w+)?|\S")
_OF_BITS = ("==", "!=", "&")
"""Operators for which a number is the bits that it has in the field."""
_UNSIGNED_ERRORS = (4, 8)
"""Bytes of fields without a sign in which an error may be: what a pointer or a `u32` holds of one."""
_SYSCALLS = "syscalls"

Names = Mapping[str, Mapping[str, int]]
"""Values that have names, by field."""


def in_words_of_kernel(
    text: str, fields: Mapping[str, StaticEventField] | None, names: Names, group: str = ""
) -> str:
    """Return a filter as it is written for the kernel; what it does not know stays as it is.

    Args:
        text: the filter.
        fields: of the event, without the common ones; None: not known.
        names: of the values of its enums.
        group: of the event: of a system call, texts are in the memory of the task.
    """

    def put(match: re.Match[str]) -> str:
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
            value = f"{value[0]}{pattern_as_meant(value[1:-1], field)}{value[0]}"
        return before + value

    return _PREDICATE.sub(put, text)


def column_written(written: str, lowered: str, column: int) -> int:
    """Return the column in a filter as it was written for one in what it is lowered to: word stands for word."""
    if written == lowered:
        return column
    there, here = list(_WORD.finditer(lowered)), list(_WORD.finditer(written))
    number = sum(word.start() <= column for word in there) - 1
    if number < 0 or number >= len(here):
        return len(written)
    inside = column - there[number].start()
    return here[number].start() + (inside if there[number][0] == here[number][0] else 0)


def enum_names(btf: Btf | None, type_id: int | None) -> Mapping[str, int]:
    """Return the names of an enum's values; none where a type is no enum."""
    kind = btf.type(strip(btf, type_id)) if btf is not None and type_id else None
    return {value.name: value.value for value in kind.values} if isinstance(kind, Enum | Enum64) else {}


def _number(field: StaticEventField, operator: str, word: str, names: Mapping[str, int]) -> str:
    number = names.get(word, errno_of(word))
    if number is None or is_text(field) or operator == "~":
        return word
    bits = 8 * field.size
    if field.type and field.signed and bits and operator in _OF_BITS and number >> bits - 1 == 1:
        number -= 1 << bits
    elif field.type and not field.signed and number < 0:
        if operator not in _OF_BITS[:2] or field.size not in _UNSIGNED_ERRORS:
            return word
        number += 1 << bits
    return str(number)
