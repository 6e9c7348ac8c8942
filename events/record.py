"""Represent one event, decoded on demand."""

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
    """Event of the ring buffer, or line of trace_pipe."""

    seq: int
    """Sequence number in the event's store."""
    ts: int
    """Nanoseconds, or ticks of some trace clocks; from text: whole microseconds."""
    cpu: int
    """-1: of no CPU, as the lines that a command wrote."""
    pid: int
    """Thread id; -1: the record has none."""
    comm: str
    """Name of the task; `<...>`: unknown."""
    event: str
    """Event path `group/name`; from text without a known format only `name`."""
    format: EventFormat | None = field(repr=False)
    """Format; None: text of an event whose format is unknown."""
    raw: bytes = b""
    """Bytes of the record from `common_type` on; empty for text."""
    text: str = ""
    """Text that the kernel printed after the time stamp; empty for binary records."""
    layout: Layout | None = field(default=None, repr=False, compare=False)
    """Decoder for `raw`; None for text."""
    stacks: tuple[Record, ...] = field(default=(), repr=False, compare=False)
    """Kernel or user stacks recorded after the event; see `events.stacks.stack`."""

    @property
    def boot(self) -> int:
        """Number of the boot whose symbols name the addresses."""
        return self.format.boot if self.format is not None else 0

    @cached_property
    def values(self) -> Mapping[str, Value]:
        """Values by field name."""
        if self.layout:
            return self.layout.named(self.raw)
        return text_values(self.text, self.format)


class Detail(NamedTuple):
    """Field of one record, with its bytes."""

    field: Field
    raw: bytes
    """Bytes of the field itself."""
    data: bytes
    """Bytes that the field refers to (`__data_loc`, `__rel_loc`); else `raw`."""
    value: Value


def detail(record: Record) -> tuple[Detail, ...]:
    """Return every field of a record, the common ones first; for text only the printed fields."""
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
