"""Check the types of plain values read from a file, before a dataclass is made of them."""

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
_ITEM_TYPES = {"tuple[str, ...]": str, "tuple[int, ...]": int}
_LARGEST = 1 << 63


def require_types(of: type, plain: Mapping[str, Any]) -> None:
    """Raise TypeError for a value of another type than the dataclass's field, or an integer above 64 bits.

    Fields of types that are not plain values are not checked, nor are values without a field.
    """
    field_types = _plain_fields(of)
    for name, value in plain.items():
        type_text = field_types.get(name)
        if type_text is None:
            continue
        expected, item_type = _TYPES[type_text], _ITEM_TYPES.get(type_text)
        of_wrong_type = not isinstance(value, expected) or (isinstance(value, bool) and bool not in expected)
        if of_wrong_type or (item_type is not None and not all(type(item) is item_type for item in value)):
            raise TypeError(f"{name} is no {expected[0].__name__}")
        if isinstance(value, int) and not -_LARGEST <= value < 2 * _LARGEST:
            raise TypeError(f"{name} does not fit in 64 bits")


@cache
def _plain_fields(of: type) -> dict[str, str]:
    return {field.name: str(field.type) for field in dataclasses.fields(of) if str(field.type) in _TYPES}
