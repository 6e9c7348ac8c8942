"""Decode keys and values of maps by the types of an object, and find the histograms among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from btf.btf import Btf
from btf.layout import fields
from btf.render import c_type
from btf.types import Array, Enum, Enum64, Int, Ptr, Struct, Type
from btf.walk import size_of, strip, stripped

Decoded = int | str | list["Decoded"] | dict[str, "Decoded"]
"""Value as JSON has it; bytes of unknown types are hexadecimal digits."""
_HISTOGRAM_WORDS: Final = ("slots", "hist", "buckets", "latency_log2")
_FEWEST_SLOTS = 8
_DEEPEST = 16


def decode(btf: Btf, type_id: int, data: bytes, depth: int = 0) -> Decoded:
    """Return a value of a type; of an unknown type (0) a number of up to 8 bytes, or hexadecimal digits."""
    kind = stripped(btf, type_id) if type_id else None
    match kind:
        case Int() | Enum() | Enum64():
            return _number(kind, data)
        case Ptr():
            return f"0x{int.from_bytes(data[:8], 'little'):x}"
        case Struct() if depth < _DEEPEST:
            return dict(_members(btf, strip(btf, type_id), data, depth))
        case Array() if depth < _DEEPEST:
            return _array(btf, kind, data, depth)
        case _:
            return int.from_bytes(data, "little") if len(data) in (1, 2, 4, 8) else data.hex()


def _number(kind: Type, data: bytes) -> Decoded:
    if isinstance(kind, Enum | Enum64):
        number = int.from_bytes(data[: kind.size], "little", signed=kind.is_signed)
        return next((one.name for one in kind.values if one.value == number), number)
    assert isinstance(kind, Int)  # noqa: S101
    return int.from_bytes(data[: kind.size], "little", signed=kind.is_signed)


def _members(btf: Btf, struct: int, data: bytes, depth: int) -> Iterator[tuple[str, Decoded]]:
    for member in fields(btf, struct):
        if member.bit_size:
            number = int.from_bytes(data, "little") >> member.bit_offset
            yield member.name, number & (1 << member.bit_size) - 1
            continue
        size, at = size_of(btf, member.type_id), member.byte_offset
        yield member.name, decode(btf, member.type_id, data[at : at + size], depth + 1)


def _array(btf: Btf, array: Array, data: bytes, depth: int) -> Decoded:
    if c_type(btf, strip(btf, array.type_id)) == "char":
        return data[: array.nelems].partition(b"\0")[0].decode("utf-8", "replace")
    size = size_of(btf, array.type_id)
    count = min(array.nelems, len(data) // size if size else 0)
    return [decode(btf, array.type_id, data[at * size : (at + 1) * size], depth + 1) for at in range(count)]


def summed(values: Sequence[Decoded]) -> Decoded:
    """Return the sum of the values of a map on all CPUs: numbers add up; of others the first that is not empty."""
    first = values[0]
    if all(isinstance(one, int) for one in values):
        return sum(one for one in values if isinstance(one, int))
    if isinstance(first, dict):
        return {name: summed([one[name] for one in values if isinstance(one, dict)]) for name in first}
    if isinstance(first, list):
        return [
            summed(list(column)) for column in zip(*(one for one in values if isinstance(one, list)), strict=False)
        ]
    return next((one for one in values if one and not isinstance(one, int)), first)


def histogram_of(name: str, value: Decoded) -> tuple[str, list[int]] | None:
    """Return the member with the slots of a histogram, and their counts; None: the value is none.

    A list of eight numbers or more whose name, or that of its map, says so: `slots`, `hist`.

    Args:
        name: of the map.
        value: decoded.
    """
    candidates = value.items() if isinstance(value, dict) else [("", value)]
    for member, one in candidates:
        if not isinstance(one, list) or len(one) < _FEWEST_SLOTS:
            continue
        counts = [number for number in one if isinstance(number, int)]
        named = any(word in text.lower() for word in _HISTOGRAM_WORDS for text in (name, member))
        if len(counts) == len(one) and named:
            return member, counts
    return None


def is_histogram_array(name: str, values: Sequence[Decoded]) -> bool:
    """Return whether all elements of an array are the slots of one histogram."""
    named = any(word in name.lower() for word in _HISTOGRAM_WORDS)
    return named and len(values) >= _FEWEST_SLOTS and all(isinstance(one, int) for one in values)


def flat(value: Decoded, name: str) -> dict[str, int | str]:
    """Return a value as columns: members of structs by name, lists as one text."""
    if isinstance(value, dict):
        found: dict[str, int | str] = {}
        for member, one in value.items():
            found |= flat(one, member if name in ("key", "value") else f"{name}.{member}")
        return found
    if isinstance(value, list):
        return {name: "{" + ",".join(str(one) for one in value) + "}"}
    return {name: value}
