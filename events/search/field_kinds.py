"""Determine the kind of values that a field can be compared with."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable

from events.format import EventFormat, Field, FieldKind, FieldLocation

_NUMBERS = (FieldKind.INT, FieldKind.POINTER, FieldKind.BOOL)


class ValueKind(enum.Enum):
    """Kind of the values in all events' fields of one name."""

    NUMBER = "a number"
    TEXT = "a text"
    SYMBOL = "a function or an address"
    NEITHER = "no single value"
    """An array or a structure."""
    UNKNOWN = "not known"
    """Events differ in the kind, or they were received as text."""


def value_kind(field: Field) -> ValueKind:
    """Return the value kind of a field."""
    if field.count is not None:
        return ValueKind.NEITHER
    if field.kind is FieldKind.STRING:
        return ValueKind.TEXT
    if field.kind is FieldKind.SYMBOL and field.loc is FieldLocation.INLINE:
        return ValueKind.SYMBOL
    return ValueKind.NUMBER if field.kind in _NUMBERS and field.loc is FieldLocation.INLINE else ValueKind.NEITHER


def value_kinds(formats: Iterable[EventFormat], names: Collection[str]) -> dict[str, ValueKind]:
    """Return the value kind of each name, over all formats."""
    found: dict[str, set[ValueKind]] = {name: set() for name in names}
    for fmt in formats:
        for field in fmt.fields:
            if field.name in found:
                found[field.name].add(value_kind(field))
    return {name: next(iter(sorts)) if len(sorts) == 1 else ValueKind.UNKNOWN for name, sorts in found.items()}
