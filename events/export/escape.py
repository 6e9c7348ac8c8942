r"""Strings of the kernel as text that loses nothing.

A file name or the name of a task may hold any byte but NUL. What is no UTF-8 is written `\xNN`, and a backslash that
stands before an `xNN` of its own is written `\x5c`: whoever turns every `\xNN` back into its byte has what was there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from events.decode import Value
from events.format import Field, FieldKind, FieldLocation
from events.record import Record

_AMBIGUOUS = re.compile(rb"\\(?=x[0-9a-f]{2})")
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")


def escaped(raw: bytes) -> str:
    """Bytes as text; see the module."""
    return _AMBIGUOUS.sub(rb"\\x5c", raw).decode("utf-8", "backslashreplace")


def unescaped(text: str) -> bytes:
    """The bytes that `escaped` was given."""
    return _ESCAPED.sub(lambda match: bytes.fromhex(match.group(1).decode()), text.encode())


def exact_values(record: Record) -> Mapping[str, Value]:
    """Fields by name as `Record.values` has them, strings escaped so that they can be had back.

    Of an event that came as text, only what the kernel printed is known.
    """
    values = record.values
    doubtful = [name for name, value in values.items() if _is_doubtful(value)]
    if record.layout is None or record.format is None or not doubtful:
        return values
    fields = {field.name: field for field in record.format.fields}
    return {**values, **{name: _exact(fields[name], record, values[name]) for name in doubtful}}


def _is_doubtful(value: Value) -> bool:
    """Whether an escape stands in it that may be the string's own."""
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
        # As events.decode has it: a string that reaches beyond the record is none.
        found.append(_string(raw[start : start + size]) if size and start + size <= len(raw) else None)
    return tuple(found) if field.count is not None else found[0]


def _string(raw: bytes) -> str:
    return escaped(raw.split(b"\0", 1)[0])
