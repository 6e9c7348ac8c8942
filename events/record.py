"""One event, decoded only when someone looks at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from events.decode import Layout, Value
from events.format import ByteOrder, EventFormat, Field, FieldLocation
from events.text import text_values


@dataclass(frozen=True)
class Record:
    """One event of the ring buffer, or one line of trace_pipe."""

    seq: int
    """Sequence number in its store."""
    ts: int
    """Nanoseconds, or ticks where another trace clock was chosen. From text: whole microseconds."""
    cpu: int
    pid: int
    """Thread id; -1: the record has none."""
    comm: str
    """Name of the task; `<...>`: not known."""
    event: str
    """`group/name`; from text without a known format only `name`."""
    format: EventFormat | None = field(repr=False)
    """None: text of an event whose format is not known."""
    raw: bytes = b""
    """The record from `common_type` on; empty for text."""
    text: str = ""
    """What the kernel printed after the time stamp; empty where it did not print."""
    layout: Layout | None = field(default=None, repr=False, compare=False)
    """How `raw` is read; None for text."""
    stacks: tuple[Record, ...] = field(default=(), repr=False, compare=False)
    """Stacks of the kernel or of a program, recorded behind the event; see `events.stacks.stack`."""

    @cached_property
    def values(self) -> Mapping[str, Value]:
        """Fields by name."""
        if self.layout:
            return self.layout.named(self.raw)
        return text_values(self.text, self.format)


class Detail(NamedTuple):
    """One field of one record, with where it was found."""

    field: Field
    raw: bytes
    """The bytes of the field itself."""
    data: bytes
    """The bytes it points to (`__data_loc`, `__rel_loc`); else `raw`."""
    value: Value


def detail(record: Record) -> tuple[Detail, ...]:
    """Every field of a record, the common ones first; of text only those that were printed."""
    fmt = record.format
    if fmt is None:
        return ()
    if record.layout is None:
        return tuple(Detail(f, b"", b"", record.values[f.name]) for f in fmt.fields if f.name in record.values)
    order = record.layout.byteorder
    found = []
    for common in fmt.common:
        raw = record.raw[common.offset : common.end]
        value = int.from_bytes(raw, order, signed=common.signed)
        found.append(Detail(common, raw, raw, value))
    for own in fmt.fields:
        raw = record.raw[own.offset : own.end if own.size else None]
        found.append(Detail(own, raw, _data(own, raw, record.raw, order), record.values.get(own.name)))
    return tuple(found)


def _data(own: Field, raw: bytes, record: bytes, order: ByteOrder) -> bytes:
    if own.loc is FieldLocation.INLINE:
        return raw
    data = b""
    base = own.end if own.loc is FieldLocation.REL else 0
    for at in range(0, len(raw), 4):
        loc = int.from_bytes(raw[at : at + 4], order)
        data += record[base + (loc & 0xFFFF) :][: loc >> 16]
    return data
