"""Name values of enums and recognize bools."""

from __future__ import annotations

from btf.btf import Btf
from btf.types import Enum, Enum64, Enumerator, Int
from btf.walk import stripped


def enum_name(b: Btf, type_id: int, value: int) -> str | None:
    """Return the name of an enum's value: one enumerator, or flags joined by `|` if all enumerators are flags.

    The value may be signed or unsigned. None: no enum, or no name for the value.
    """
    found = stripped(b, type_id)
    if not isinstance(found, Enum | Enum64):
        return None
    mask = (1 << 8 * min(found.size, 8)) - 1
    wanted = value & mask
    for name, number in found.values:
        if number & mask == wanted:
            return name
    return _flags(found.values, wanted, mask)


def is_bool(b: Btf, type_id: int) -> bool:
    """Return whether a type is a bool in C."""
    found = stripped(b, type_id)
    return isinstance(found, Int) and found.is_bool


def _flags(values: tuple[Enumerator, ...], wanted: int, mask: int) -> str | None:
    numbers = [number & mask for _, number in values]
    bits = [(name, number & mask) for name, number in values if (number & mask).bit_count() == 1]
    # A counting enum has 1, 2, 3; an enum of flags has hardly any numbers except single bits.
    counts = (1, 2, 3) in zip(numbers, numbers[1:], numbers[2:], strict=False)
    if counts or len(bits) < 3 or len(bits) * 2 <= sum(number != 0 for number in numbers):
        return None
    names = []
    for name, bit in sorted(bits, key=lambda pair: pair[1]):
        if wanted & bit:
            names.append(name)
            wanted &= ~bit
    return "|".join(names) if names and not wanted else None
