"""Encode the values of a user event as a program writes them (Documentation/trace/user_events.rst)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

from foreign.text import whole_number
from probes.syntax.text import kstrtol
from probes.user_events.event import MOST_RECORD
from probes.user_events.kernel_reading import PLACED, KernelDefinition, KernelField

_ENTRY: Final = 8
"""Bytes of struct trace_entry, from whose beginning a `__data_loc` counts."""
_HEX: Final = re.compile(r"0x((?:[0-9a-fA-F]{2})*)")
ByteOrder = Literal["little", "big"]


class BadFieldValue(ValueError):
    """A text that is no value of a field; its message names both."""


def split_values(words: list[str]) -> dict[str, str]:
    """Return the values of words `FIELD=VALUE`, by field. Raises BadFieldValue."""
    values: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise BadFieldValue(f"{word}: a value is FIELD=VALUE")
        if name in values:
            raise BadFieldValue(f"{name} is given twice")
        values[name] = value
    return values


def encode_values(definition: KernelDefinition, values: Mapping[str, str], order: ByteOrder = "little") -> bytes:
    """Return the bytes of an event's fields. Raises BadFieldValue.

    Args:
        definition: event with its fields.
        values: a text for each field: a number, a text, or bytes as `0x00ff`.
        order: byte order of the target.
    """
    names = [field.name for field in definition.fields]
    unknown = [name for name in values if name not in names]
    if unknown:
        raise BadFieldValue(f"{unknown[0]}: the fields of {definition.name} are {definition.fields_text or 'none'}")
    missing = [field.text for field in definition.fields if field.name not in values]
    if missing:
        raise BadFieldValue(f"no value for {'; '.join(missing)}")
    start = sum(field.size for field in definition.fields)
    fixed, tail = b"", b""
    for field in definition.fields:
        text = values[field.name]
        if field.type.startswith(PLACED):
            data = _placed(field, text)
            at = start + len(tail)
            at += _ENTRY if field.type.startswith("__data_loc") else -(len(fixed) + 4)
            if len(data) + at >= 1 << 16:
                raise BadFieldValue(f"{field.name}: the text is too long")
            fixed += (len(data) << 16 | at).to_bytes(4, order)
            tail += data
        else:
            fixed += _inline(field, text, order)
    if len(fixed + tail) > MOST_RECORD:
        raise BadFieldValue(f"the event has more than {MOST_RECORD} bytes, and would not be recorded")
    return fixed + tail


def _placed(field: KernelField, text: str) -> bytes:
    """Return the bytes of a value that stands behind all fields; texts end in a NUL."""
    if "char" in field.type:
        return text.encode(errors="surrogateescape") + b"\0"
    return _bytes(field, text)


def _inline(field: KernelField, text: str, order: ByteOrder) -> bytes:
    if "[" in field.type:
        data = text.encode(errors="surrogateescape")
        if len(data) >= field.size:
            raise BadFieldValue(
                f"{field.name}: {field.type} holds a text of {field.size - 1} bytes, this has {len(data)}"
            )
        return data.ljust(field.size, b"\0")
    if field.type.startswith("struct "):
        data = _bytes(field, text)
        if len(data) != field.size:
            raise BadFieldValue(f"{field.name} has {field.size} bytes, {len(data)} are given")
        return data
    return _number(field, text, order)


def _number(field: KernelField, text: str, order: ByteOrder) -> bytes:
    signed, bits = not field.type.startswith("u"), field.size * 8
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    number = whole_number(text) if text.isascii() and text.isdigit() else kstrtol(text)
    if number is None and field.type.endswith("char") and len(text) == 1:
        number = ord(text)
    if number is None:
        raise BadFieldValue(f"{field.name}: {text!r} is no number")
    if not least <= number <= most:
        raise BadFieldValue(f"{field.name}: {field.type} holds {least} to {most}")
    return number.to_bytes(field.size, order, signed=signed)


def _bytes(field: KernelField, text: str) -> bytes:
    match = _HEX.fullmatch(text)
    if match is None:
        raise BadFieldValue(f"{field.name}: {field.type} takes bytes, two digits each: 0x00ff")
    return bytes.fromhex(match[1])
