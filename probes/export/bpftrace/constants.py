"""Find the names of numbers in a filter, as they were written before it was lowered for the kernel."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

_PREDICATE = re.compile(
    r"""(?:"[^"]*"|'[^']*') | (?P<field>[A-Za-z_]\w*)\s*(?P<operator>==|!=|<=|>=|[<>]|&(?!&))\s*(?P<value>-?\w+)""",
    re.VERBOSE,
)
_NAME = re.compile(r"(-?)([A-Z_][A-Z0-9_]*)")

Names = Mapping[tuple[str, int], str]
"""Names of numbers, by field and number; `-` stands before that of a negative number."""
NO_NAMES: Names = {}


def names_of_numbers(written: str, lowered: str) -> Names:
    """Return the names in a filter by what the kernel is told instead; those of doubt are left out."""
    words, numbers = _values(written), _values(lowered)
    names: dict[tuple[str, int], str] = {}
    for key, values in numbers.items():
        if len(values) != len(words.get(key, ())):
            continue  # a part of the filter is for another event
        for word, value in zip(words[key], values, strict=True):
            match = _NAME.fullmatch(word)
            if match and re.fullmatch(r"-?\d+", value) and (match[1] == "-") == (int(value) < 0):
                names[key[0], int(value)] = word
    return names


def definitions(names: Names) -> dict[str, int]:
    """Return the numbers of names, each without a sign."""
    return {name.removeprefix("-"): abs(value) for (_, value), name in names.items()}


def _values(text: str) -> dict[tuple[str, str], list[str]]:
    """Return the values that each field is compared with, by field and operator."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for match in _PREDICATE.finditer(text):
        if match["field"]:
            found[match["field"], match["operator"]].append(match["value"])
    return found
