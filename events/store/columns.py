"""Extract columns of events: the values of one field as a numpy array, gathered from the slabs of a range of rows.

`Store.columns(start, stop)` covers rows of all formats; `StoreColumns.tables` has one `FormatTable` per format, with
sequence numbers, time stamps, CPUs, thread ids and, on demand, each field that is a single number (10 ns per event).
Strings and arrays are not gathered: `FormatTable.values` decodes them, `FormatTable.string_bytes` returns their
bytes. Rows received as text are in no table.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.clocks.boots import ID_BITS
from events.decode import Decoder, Layout, Value
from events.format import UNMAPPED_BYTES, ByteOrder, Field, FieldKind, FieldLocation, HeaderPage
from events.store.blocks import Slab
from events.store.row_columns import RowColumns
from events.subbuffer import DATA_BYTES, WORD_BITS, WORD_MASK, payload

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

PIECE = 1 << 15
"""Recommended number of rows per call, so that gathered data stays in the processor's caches."""

_LARGEST_HEAD = 512
"""Maximum bytes at the start of each record that are gathered together."""
_PID = Field("common_pid", "int", 4, 4, True, FieldKind.INT, 4)
_LENGTHS = {order: np.array(lengths, np.int64) for order, lengths in DATA_BYTES.items()}
_NUMBERS = (FieldKind.INT, FieldKind.POINTER, FieldKind.SYMBOL, FieldKind.BOOL)


class FieldColumn(NamedTuple):
    """Values of one field."""

    values: NDArray[Any]
    """Integers of the field's width and sign, or bools; 0 where the value is missing."""
    missing: Mask | None
    """Mask of the records that end before the field, or in which it could not be read; None: of none."""


class StringBytes(NamedTuple):
    """Bytes of a string field, each string followed by a NUL."""

    data: bytes
    begins: Ints
    """Offset in `data` of each row's string."""
    missing: Mask
    """Mask of the rows without a string: the kernel could not read it, or the record ends before it."""


def is_number(field: Field) -> bool:
    """Return whether a field is a single number that `FormatTable.column` can gather."""
    return field.kind in _NUMBERS and field.count is None and field.loc is FieldLocation.INLINE


def is_string(field: Field) -> bool:
    """Return whether a field is a single string that `FormatTable.string_bytes` can gather."""
    return field.kind is FieldKind.STRING and field.count is None


def record_places(data: bytes, at: Ints, byteorder: ByteOrder) -> tuple[Ints, Ints]:
    """Return the byte offset and the length in bytes of the record of each event, given the events' byte offsets
    `at`.
    """
    lengths = _LENGTHS[byteorder].take(np.frombuffer(data, np.uint8).take(at))
    starts = at + 4
    is_long = np.flatnonzero(lengths == 0)
    if len(is_long):
        words = np.frombuffer(data, "<u4" if byteorder == "little" else ">u4")
        lengths[is_long] = words[starts[is_long] >> 2].astype(np.int64) - 4
        starts[is_long] += 4
    return starts, lengths


class _RowBytes:
    """Rows from a sequence number on, and the bytes of their events.

    Tables and `StoreColumns` share it: had each table its columns, which have their tables, megabytes would wait for
    the next collection of cycles.
    """

    def __init__(self, first: int, run: RowColumns, slabs: Mapping[int, Slab], header: HeaderPage) -> None:
        self.first = first
        self.run = run
        numbers = run.keys >> WORD_BITS
        low = int(numbers.min()) if len(numbers) else 0
        self.slabs = numbers - low
        """Slab number of each row, minus the lowest one."""
        count = int(self.slabs.max()) + 1 if len(numbers) else 0
        first_keys, last_keys = np.full(count, 1 << 62), np.full(count, -1)
        np.minimum.at(first_keys, self.slabs, run.keys)
        np.maximum.at(last_keys, self.slabs, run.keys)
        self.cpus = np.zeros(count, np.int32)
        """CPU of each slab, indexed as in `slabs`."""
        text = np.zeros(count, np.bool_)
        self._moves = np.zeros(count, np.int64)
        """Difference between 4 * key and the offset in `data`, by slab."""
        parts: list[memoryview] = []
        size = 0
        for number in np.flatnonzero(last_keys >= 0).tolist():
            slab = slabs[low + number]
            self.cpus[number], text[number] = slab.cpu, slab.text
            if not slab.text:
                first_word, last_word = (int(keys[number]) & WORD_MASK for keys in (first_keys, last_keys))
                start, length = payload(slab.data, last_word, header)
                parts.append(memoryview(slab.data)[4 * first_word : (start + length + 3) & ~3])
                self._moves[number] = size - 4 * int(first_keys[number])
                size += len(parts[-1])
        self.data: bytes = b"".join(parts)
        """Concatenated bytes of the slabs, each from the first to the last of the rows in it; begins with an event.
        """
        self.is_text: Mask = text[self.slabs] if text.any() else np.zeros(len(numbers), np.bool_)
        """Mask of the rows received as text."""

    @cached_property
    def at(self) -> Ints:
        """Byte offset of each row's event in `data`, a multiple of 4; undefined for text."""
        return (self.run.keys << 2) + self._moves.take(self.slabs)


class FormatTable:
    """Events of one format; every array has one element per event, in the order of the store."""

    def __init__(self, rows: _RowBytes, layout: Layout, places: Ints) -> None:
        self.layout = layout
        self.places = places
        """Positions of the events in the range of rows of the `StoreColumns`."""
        self.data = rows.data
        self._rows = rows

    def __len__(self) -> int:
        return len(self.places)

    def only(self, rows: Mask) -> FormatTable:
        """Return the table of some of its events."""
        return FormatTable(self._rows, self.layout, self.places[rows])

    @cached_property
    def seqs(self) -> Ints:
        """Sequence numbers."""
        return self.places + self._rows.first

    @property
    def keys(self) -> Ints:
        """Keys of the events in the store's slabs."""
        return self._rows.run.keys.take(self.places)

    @cached_property
    def stamps(self) -> Ints:
        return self._rows.run.stamps.take(self.places)

    @cached_property
    def cpus(self) -> NDArray[np.int32]:
        return self._rows.cpus.take(self._rows.slabs.take(self.places))

    @property
    def starts(self) -> Ints:
        """Byte offset of each record in `data`."""
        return self._records[0]

    @property
    def lengths(self) -> Ints:
        """Bytes of each record."""
        return self._records[1]

    @cached_property
    def _records(self) -> tuple[Ints, Ints]:
        """Record offsets and lengths in bytes, as `events.subbuffer.payload` returns them for one event."""
        return record_places(self.data, self._rows.at.take(self.places), self.layout.byteorder)

    @property
    def task_keys(self) -> NDArray[Any]:
        """Results of `events.clocks.boots.task_key` for the thread ids."""
        boot = self.layout.format.boot
        return np.where(self.pids < 0, -1, self.pids.astype(np.int64) | boot << ID_BITS) if boot else self.pids

    @cached_property
    def pids(self) -> NDArray[np.int32]:
        """Thread ids; -1 where the record is too short to have one."""
        # gathering this one field costs less than gathering the heads of all records
        values, missing = self._gather(_PID, use_heads="_heads" in self.__dict__)
        return values if missing is None else np.where(missing, np.int32(-1), values)

    def column(self, field: Field) -> FieldColumn:
        """Return the values of a field that satisfies `is_number`."""
        values, missing = self._gather(field)
        for unread in self._unread(field):
            missing = unread if missing is None else missing | unread
        return FieldColumn(values.astype(np.bool_) if field.kind is FieldKind.BOOL else values, missing)

    def _unread(self, field: Field) -> Iterator[NDArray[np.bool_]]:
        """Yield where the records tell that a number could not be read."""
        if field.fault and self._fault_bits is not None:
            yield self._fault_bits & field.fault != 0
        for pointer in self.layout.format.fields:
            if pointer.name in field.pointers:
                values, missing = self._gather(pointer)
                unmapped = values.view(f"u{pointer.size}") + UNMAPPED_BYTES < 2 * UNMAPPED_BYTES
                yield unmapped if missing is None else unmapped & ~missing

    @cached_property
    def _fault_bits(self) -> NDArray[np.uint32] | None:
        """Bits of the numbers that could not be read, by record; None: all could."""
        faults = self.layout.format.faults
        bits = self._gather(faults).values if faults is not None else None
        return bits if bits is not None and bits.any() else None

    def values(self, field: Field) -> list[Value]:
        """Return decoded values of any field, one per event, as `Layout.values` decodes them."""
        number = self.layout.format.fields.index(field)
        records = zip(self.starts.tolist(), self.lengths.tolist(), strict=True)
        return [self.layout.values(self.data, start, length)[number] for start, length in records]

    def string_bytes(self, field: Field) -> StringBytes:
        """Return the bytes of a field that satisfies `is_string`."""
        size: Ints
        if field.loc is FieldLocation.INLINE:
            at = np.full(len(self.starts), field.offset, np.int64)
            size = np.maximum(self.lengths - field.offset, 0)
            missing = field.end > self.lengths
            if field.size:
                size = np.where(missing, 0, field.size)
        else:
            location, short = self._locations(field)
            at, size = (location & 0xFFFF) + (field.end if field.loc is FieldLocation.REL else 0), location >> 16
            missing = (size == 0) | (at + size > self.lengths)
            missing = missing if short is None else missing | short
            for later in self.layout.format.later_texts(field):
                other, absent = self._locations(later)
                same = other & 0xFFFF == at
                missing = missing | (same if absent is None else same & ~absent)
            size = np.where(missing, 0, size)
        # one byte more than the string, for the NUL
        begins = np.cumsum(size + 1) - (size + 1)
        inside = np.arange(int(begins[-1] + size[-1]) + 1 if len(size) else 0) - np.repeat(begins, size + 1)
        source = np.repeat(self.starts + at, size + 1) + inside
        gathered = np.frombuffer(self.data, np.uint8)[np.minimum(source, len(self.data) - 1)]
        gathered[begins + size] = 0
        return StringBytes(gathered.tobytes(), begins, missing)

    def _locations(self, field: Field) -> FieldColumn:
        """Return the places of the texts of a field, each `length << 16 | offset`."""
        values, missing = self._gather(Field(field.name, "u32", field.offset, 4, False, FieldKind.INT, 4))
        return FieldColumn(values.astype(np.int64), missing)

    @cached_property
    def _heads(self) -> NDArray[np.void] | None:
        """Fixed-size head of each record, gathered once for all fields; None: too large, or a record is shorter."""
        faults = self.layout.format.faults
        fields = (_PID, *self.layout.format.fields, *(() if faults is None else (faults,)))
        size = max(field.end for field in fields)
        if size > _LARGEST_HEAD or not len(self) or size > int(self.lengths.min()):
            return None
        everywhere: NDArray[np.void] = np.ndarray((len(self.data) - size + 1,), f"V{size}", self.data, strides=(1,))
        return everywhere[self.starts]

    def _gather(self, field: Field, use_heads: bool = True) -> FieldColumn:
        order = "<" if self.layout.byteorder == "little" else ">"
        dtype = np.dtype(f"{order}{'i' if field.signed else 'u'}{field.size}")
        native = dtype.newbyteorder("=")
        if use_heads and self._heads is not None:
            shape, strides = self._heads.shape, self._heads.strides
            values: NDArray[Any] = np.ndarray(shape, dtype, self._heads, field.offset, strides)
            return FieldColumn(values.astype(native), None)
        missing = self.lengths < field.end
        some_missing = bool(missing.any())
        at = self.starts + field.offset
        if some_missing:
            at[missing] = 0
        if field.size == 4 and field.offset % 4 == 0:
            values = np.frombuffer(self.data, dtype).take(at >> 2)
        else:
            # numpy gathers at unaligned offsets from an array that has a value at every byte
            room = len(self.data) - field.size + 1
            if room <= 0:
                return FieldColumn(np.zeros(len(self), native), missing)
            values = np.ndarray((room,), dtype, self.data, strides=(1,))[at]
        values = values.astype(native, copy=False)
        if some_missing:
            values[missing] = 0
        return FieldColumn(values, missing if some_missing else None)


class StoreColumns:
    """Events of a range of rows, with one `FormatTable` per format."""

    def __init__(self, first: int, run: RowColumns, slabs: Mapping[int, Slab], decoder: Decoder) -> None:
        """Take rows from sequence number `first` on, and the slabs that they point into."""
        self._decoder = decoder
        self._rows = rows = _RowBytes(first, run, slabs, decoder.header)
        self.first = first
        self.run = run
        self.data = rows.data
        """Concatenated bytes of the slabs, each from the first to the last of the rows in it; begins with an event.
        """
        self.slabs = rows.slabs
        """Slab number of each row, minus the lowest one."""
        self.cpus = rows.cpus
        """CPU of each slab, indexed as in `slabs`."""
        self.is_text = rows.is_text
        """Mask of the rows received as text."""

    def __len__(self) -> int:
        return len(self.run.ids)

    def only(self, rows: Mask) -> StoreColumns:
        """Return a copy whose `tables` hold only the rows of a mask; the range of rows stays unchanged."""
        part = copy.copy(self)
        tables = {number: table.only(rows[table.places]) for number, table in self.tables.items()}
        part.tables = {number: table for number, table in tables.items() if len(table)}
        return part

    @property
    def at(self) -> Ints:
        """Byte offset of each row's event in `data`, a multiple of 4; undefined for text."""
        return self._rows.at

    @cached_property
    def tables(self) -> dict[int, FormatTable]:
        """`FormatTable` of each format id that has rows."""
        ids = np.where(self.is_text, -1, self.run.ids) if self.is_text.any() else self.run.ids
        present = np.flatnonzero(np.bincount(ids[ids >= 0] if len(ids) and ids.min() < 0 else ids)).tolist()
        return {
            number: FormatTable(self._rows, self._decoder.layout(number), np.flatnonzero(ids == number))
            for number in present
        }
