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
    TIME = "a time: seconds of the kernel's clock, as 12.304117"
    NEITHER = "no single value"
    """An array or a structure."""
    MIXED = "a value whose kind differs between events"
    UNKNOWN = "not known"
    """No event with such a field has a known format, as if all were received as text."""


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
    return {name: common_kind(kinds) for name, kinds in found.items()}


def common_kind(kinds: Iterable[ValueKind]) -> ValueKind:
    """Return the kind of several events' values of one name."""
    known = set(kinds) - {ValueKind.UNKNOWN}
    return ValueKind.MIXED if len(known) > 1 else next(iter(known), ValueKind.UNKNOWN)
