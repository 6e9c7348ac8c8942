r"""Escape strings of the kernel as text without losing information.

A file name or task name may contain any byte except NUL. Bytes that are not UTF-8 are written `\xNN`, and a backslash
that precedes a literal `xNN` is written `\x5c`: turning every `\xNN` back into its byte restores the original.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from events.decode import Value
from events.format import Field, FieldKind, FieldLocation
from events.record import Record

_AMBIGUOUS = re.compile(rb"\\(?=x[0-9a-f]{2})")
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")
_IN_FRAME: Final = re.compile(r"[;\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters that end a frame, or a line, of folded stacks."""


def escape_bytes(raw: bytes) -> str:
    """Return bytes as text; see the module."""
    return _AMBIGUOUS.sub(rb"\\x5c", raw).decode("utf-8", "backslashreplace")


def unescape_text(text: str) -> bytes:
    """Return the bytes that `escape_bytes` encoded."""
    return _ESCAPED.sub(lambda match: bytes.fromhex(match.group(1).decode()), text.encode())


def exact_values(record: Record) -> Mapping[str, Value]:
    """Return the fields by name as `Record.values` has them, with strings escaped reversibly.

    An event received as text has only what the kernel printed.
    """
    values = record.values
    ambiguous = [name for name, value in values.items() if _may_be_ambiguous(value)]
    if record.layout is None or record.format is None or not ambiguous:
        return values
    fields = {field.name: field for field in record.format.fields}
    return {**values, **{name: _exact(fields[name], record, values[name]) for name in ambiguous}}


def _may_be_ambiguous(value: Value) -> bool:
    """Return whether a value contains an escape sequence that may be part of the original string."""
    if isinstance(value, tuple):
        return any(isinstance(part, str) and "\\x" in part for part in value)
    return isinstance(value, str) and "\\x" in value


def _exact(field: Field, record: Record, value: Value) -> Value:
    if field.kind is not FieldKind.STRING or record.layout is None:
        return value
    raw = record.raw
    if field.loc is FieldLocation.INLINE:
        return _string(raw[field.offset : field.end if field.size else None])
    base = field.end if field.loc is FieldLocation.REL else 0
    found: list[str | None] = []
    for at in range(field.offset, field.end, 4):
        place = int.from_bytes(raw[at : at + 4], record.layout.byteorder)
        start, size = base + (place & 0xFFFF), place >> 16
        # As in events.decode: a string that extends beyond the record is missing.
        found.append(_string(raw[start : start + size]) if size and start + size <= len(raw) else None)
    return tuple(found) if field.count is not None else found[0]


def _string(raw: bytes) -> str:
    return escape_bytes(raw.split(b"\0", 1)[0])


def clean_frame(frame: str) -> str:
    r"""Return the name of a frame for folded stacks: `;` and control characters as `\xNN`."""
    return _IN_FRAME.sub(lambda match: "".join(f"\\x{byte:02x}" for byte in match.group().encode()), frame)
