"""Types of plain values that came from a file, before they become a dataclass."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "int | None": (int, type(None)),
    "tuple[str, ...]": (list, tuple),
    "tuple[int, ...]": (list, tuple),
}
_PARTS = {"tuple[str, ...]": str, "tuple[int, ...]": int}
_LARGEST = 1 << 63


def require_types(of: type, plain: Mapping[str, Any]) -> None:
    """Raise TypeError where a value is of another type than the dataclass's field of its name says, or too large.

    Fields of types that are no plain values are not looked at, nor is what has no field.
    """
    known = _known(of)
    for name, value in plain.items():
        kind = known.get(name)
        if kind is None:
            continue
        expected, part = _TYPES[kind], _PARTS.get(kind)
        of_wrong_type = not isinstance(value, expected) or (isinstance(value, bool) and bool not in expected)
        if of_wrong_type or (part is not None and not all(type(one) is part for one in value)):
            raise TypeError(f"{name} is no {expected[0].__name__}")
        if isinstance(value, int) and not -_LARGEST <= value < 2 * _LARGEST:
            raise TypeError(f"{name} does not fit in 64 bits")


@cache
def _known(of: type) -> dict[str, str]:
    return {one.name: str(one.type) for one in dataclasses.fields(of) if str(one.type) in _TYPES}
