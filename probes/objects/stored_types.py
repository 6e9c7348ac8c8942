"""Name the types by which members of records are stored in events."""

from __future__ import annotations

from typing import Final

from probes.bpf.record import StoredType

MAX_BYTES: Final = 2048
"""Bytes of a record that are kept: an event has to fit into a sub-buffer of 4 KB."""

_TAIL_BYTES = 512
"""Bytes that are kept of a text without a length of its own, at the end of a record."""


def number_type(size: int, *, signed: bool) -> StoredType | None:
    """Return the type of a number of 1, 2, 4 or 8 bytes; None: it has another size."""
    if size not in (1, 2, 4, 8):
        return bytes_type(size) if size > 0 else None
    conversion = f"%{'L' if size == 8 else ''}{'d' if signed else 'u'}"
    return StoredType(f"{'s' if signed else 'u'}{size * 8}", size, conversion, signed=signed)


def text_type(size: int) -> StoredType:
    """Return the type of a text; 0 bytes: up to the end of the record."""
    size = size if size > 0 else _TAIL_BYTES
    return StoredType(f"char[{size}]", size, '\\"%s\\"')


def bytes_type(size: int) -> StoredType:
    """Return the type of bytes that nobody names."""
    return StoredType("struct bytes", size, "%s")
