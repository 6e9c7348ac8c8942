"""Encode protocol buffers: https://protobuf.dev/programming-guides/encoding/.

Each function returns the bytes of one field with its key; a message is the concatenation of its fields.
"""

from __future__ import annotations

import struct
from functools import cache

_VARINT, _FIXED, _BYTES = 0, 1, 2
"""Wire types of protocol buffers."""
_MASK = (1 << 64) - 1
_SHORT = tuple(bytes((number,)) for number in range(0x80))


def varint(number: int) -> bytes:
    """Encode a 64-bit number; a negative one as its two's complement."""
    if 0 <= number < 0x80:
        return _SHORT[number]
    number &= _MASK
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


@cache
def _key(field: int, wire_type: int) -> bytes:
    return varint(field << 3 | wire_type)


def number(field: int, value: int) -> bytes:
    """Encode a field of type int64, uint64, int32, uint32, bool or of an enum."""
    return _key(field, _VARINT) + varint(value)


def double(field: int, value: float) -> bytes:
    """Encode a field of type double."""
    return _key(field, _FIXED) + struct.pack("<d", value)


def content(field: int, value: bytes) -> bytes:
    """Encode a field of type bytes, or a nested message."""
    return _key(field, _BYTES) + varint(len(value)) + value


def string(field: int, value: str) -> bytes:
    """Encode a field of type string; lone surrogates are escaped."""
    return content(field, value.encode("utf-8", "backslashreplace"))
