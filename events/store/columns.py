"""Whole columns of events: the numbers of a field as an array, gathered from the slabs of a range of rows.

`Store.columns(start, stop)` gives them for rows of all formats; `Columns.tables` has one `FormatTable` for each
format, with sequence numbers, time stamps, CPUs, thread ids and, when asked, each field that is one number (10 ns an
event). Strings and arrays stay where they are: `FormatTable.values` decodes them, `FormatTable.string_bytes` gives
their bytes. Rows that came as text are in no table.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.decode import Decoder, Layout, Value
from events.format import ByteOrder, Field, FieldKind, FieldLocation
from events.store.blocks import Slab
from events.store.row_columns import RowColumns
from events.subbuffer import DATA_BYTES, WORD_BITS, WORD_MASK, payload

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

PIECE = 1 << 15
"""Rows that are well taken at once: what is gathered stays in the caches of the processor."""

_LARGEST_HEAD = 512
"""Bytes of a record that are gathered at once."""
_PID = Field("common_pid", "int", 4, 4, True, FieldKind.INT, 4)
_LENGTHS = {order: np.array(lengths, np.int64) for order, lengths in DATA_BYTES.items()}
_NUMBERS = (FieldKind.INT, FieldKind.POINTER, FieldKind.SYMBOL, FieldKind.BOOL)


class FieldColumn(NamedTuple):
    """The values of one field."""

    values: NDArray[Any]
    """Integers of the field's width and sign, or bools; 0 where one is missing."""
    missing: Mask | None
    """Records that end before the field; None: there is none."""


class StringBytes(NamedTuple):
    """The bytes of a field of strings, each with a NUL behind it."""

    data: bytes
    begins: Ints
    """Where each row's string begins in `data`."""
    missing: Mask
    """Rows without a string: the kernel could not read it, or the record ends before it."""


def is_number(field: Field) -> bool:
    """Whether a field is one number, so that `FormatTable.column` can give it."""
    return field.kind in _NUMBERS and field.count is None and field.loc is FieldLocation.INLINE


def is_string(field: Field) -> bool:
    """Whether a field is one string, so that `FormatTable.string_bytes` can give it."""
    return field.kind is FieldKind.STRING and field.count is None


def record_places(data: bytes, at: Ints, byteorder: ByteOrder) -> tuple[Ints, Ints]:
    """Return where the records of events begin that are at some places, and their lengths in bytes."""
    lengths = _LENGTHS[byteorder].take(np.frombuffer(data, np.uint8).take(at))
    starts = at + 4
    is_long = np.flatnonzero(lengths == 0)
    if len(is_long):
        words = np.frombuffer(data, "<u4" if byteorder == "little" else ">u4")
        lengths[is_long] = words[starts[is_long] >> 2].astype(np.int64) - 4
        starts[is_long] += 4
    return starts, lengths


class FormatTable:
    """The events of one format; all arrays have a row for each event, in the order of the store."""

    def __init__(self, columns: Columns, layout: Layout, places: Ints) -> None:
        self.layout = layout
        self.places = places
        """Of its rows in the range that was asked for."""
        self.data = columns.data
        self._columns = columns

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def seqs(self) -> Ints:
        """Sequence numbers."""
        return self.places + self._columns.first

    @cached_property
    def stamps(self) -> Ints:
        return self._columns.run.stamps.take(self.places)

    @cached_property
    def cpus(self) -> NDArray[np.int32]:
        return self._columns.cpus.take(self._columns.slabs.take(self.places))

    @property
    def starts(self) -> Ints:
        """Where each record begins in `data`."""
        return self._records[0]

    @property
    def lengths(self) -> Ints:
        """Bytes of each record."""
        return self._records[1]

    @cached_property
    def _records(self) -> tuple[Ints, Ints]:
        """As `events.subbuffer.payload`."""
        return record_places(self.data, self._columns.at.take(self.places), self.layout.byteorder)

    @cached_property
    def pids(self) -> NDArray[np.int32]:
        """Thread ids; -1 where the record is too short to have one."""
        # Alone they are had for less than all fields together.
        values, missing = self._gather(_PID, together="_heads" in self.__dict__)
        return values if missing is None else np.where(missing, np.int32(-1), values)

    def column(self, field: Field) -> FieldColumn:
        """Values of a field for which `is_number` holds."""
        values, missing = self._gather(field)
        return FieldColumn(values.astype(np.bool_) if field.kind is FieldKind.BOOL else values, missing)

    def values(self, field: Field) -> list[Value]:
        """Values of any field, one by one; as `Layout.values` gives them."""
        number = self.layout.format.fields.index(field)
        records = zip(self.starts.tolist(), self.lengths.tolist(), strict=True)
        return [self.layout.values(self.data, start, length)[number] for start, length in records]

    def string_bytes(self, field: Field) -> StringBytes:
        """What a field holds for which `is_string` holds."""
        size: Ints
        if field.loc is FieldLocation.INLINE:
            at = np.full(len(self.starts), field.offset, np.int64)
            size = np.maximum(self.lengths - field.offset, 0)
            missing = field.end > self.lengths
            if field.size:
                size = np.where(missing, 0, field.size)
        else:
            location, short = self._gather(Field(field.name, "u32", field.offset, 4, False, FieldKind.INT, 4))
            location = location.astype(np.int64)
            at, size = (location & 0xFFFF) + (field.end if field.loc is FieldLocation.REL else 0), location >> 16
            missing = (size == 0) | (at + size > self.lengths)
            missing = missing if short is None else missing | short
            size = np.where(missing, 0, size)
        # One byte more than the string, which becomes the NUL.
        begins = np.cumsum(size + 1) - (size + 1)
        inside = np.arange(int(begins[-1] + size[-1]) + 1 if len(size) else 0) - np.repeat(begins, size + 1)
        source = np.repeat(self.starts + at, size + 1) + inside
        made = np.frombuffer(self.data, np.uint8)[np.minimum(source, len(self.data) - 1)]
        made[begins + size] = 0
        return StringBytes(made.tobytes(), begins, missing)

    @cached_property
    def _heads(self) -> NDArray[np.void] | None:
        """The part of each record that is of one size, all together: one gathering does for all fields."""
        fields = (_PID, *self.layout.format.fields)
        size = max(field.end for field in fields)
        if size > _LARGEST_HEAD or not len(self) or size > int(self.lengths.min()):
            return None
        everywhere: NDArray[np.void] = np.ndarray((len(self.data) - size + 1,), f"V{size}", self.data, strides=(1,))
        return everywhere[self.starts]

    def _gather(self, field: Field, together: bool = True) -> FieldColumn:
        order = "<" if self.layout.byteorder == "little" else ">"
        dtype = np.dtype(f"{order}{'i' if field.signed else 'u'}{field.size}")
        native = dtype.newbyteorder("=")
        if together and self._heads is not None:
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
            # A value at every byte: numpy gathers from it at any offset.
            room = len(self.data) - field.size + 1
            if room <= 0:
                return FieldColumn(np.zeros(len(self), native), missing)
            values = np.ndarray((room,), dtype, self.data, strides=(1,))[at]
        values = values.astype(native, copy=False)
        if some_missing:
            values[missing] = 0
        return FieldColumn(values, missing if some_missing else None)


class Columns:
    """See the module."""

    def __init__(self, first: int, run: RowColumns, slabs: Mapping[int, Slab], decoder: Decoder) -> None:
        """Rows from sequence number `first` on, and the slabs that they point into."""
        self.first = first
        self.run = run
        self._decoder = decoder
        numbers = run.keys >> WORD_BITS
        low = int(numbers.min()) if len(numbers) else 0
        self.slabs = numbers - low
        """Numbers of the slabs that the rows are in, from the lowest on."""
        count = int(self.slabs.max()) + 1 if len(numbers) else 0
        first_keys, last_keys = np.full(count, 1 << 62), np.full(count, -1)
        np.minimum.at(first_keys, self.slabs, run.keys)
        np.maximum.at(last_keys, self.slabs, run.keys)
        self.cpus = np.zeros(count, np.int32)
        """CPU of each slab, by its number."""
        text = np.zeros(count, np.bool_)
        self._moves = np.zeros(count, np.int64)
        """From 4 * key to the place in `data`, by the number of the slab."""
        parts: list[memoryview] = []
        size = 0
        for number in np.flatnonzero(last_keys >= 0).tolist():
            slab = slabs[low + number]
            self.cpus[number], text[number] = slab.cpu, slab.text
            if not slab.text:
                first_word, last_word = (int(keys[number]) & WORD_MASK for keys in (first_keys, last_keys))
                start, length = payload(slab.data, last_word, decoder.header)
                parts.append(memoryview(slab.data)[4 * first_word : (start + length + 3) & ~3])
                self._moves[number] = size - 4 * int(first_keys[number])
                size += len(parts[-1])
        self.data: bytes = b"".join(parts)
        """The bytes from the first of the rows to the last of each slab; begins with an event."""
        self.is_text: Mask = text[self.slabs] if text.any() else np.zeros(len(numbers), np.bool_)
        """Rows that came as text."""

    def __len__(self) -> int:
        return len(self.run.ids)

    def only(self, rows: Mask) -> Columns:
        """Return the same range of rows, of which `tables` holds those of a mask alone."""
        part = copy.copy(self)
        places = {number: table.places[rows[table.places]] for number, table in self.tables.items()}
        part.tables = {
            number: FormatTable(self, self.tables[number].layout, kept)
            for number, kept in places.items()
            if len(kept)
        }
        return part

    @cached_property
    def at(self) -> Ints:
        """Where each row's event begins in `data`, a multiple of 4; of text it means nothing."""
        return (self.run.keys << 2) + self._moves.take(self.slabs)

    @cached_property
    def tables(self) -> dict[int, FormatTable]:
        """By id of the format."""
        ids = np.where(self.is_text, -1, self.run.ids) if self.is_text.any() else self.run.ids
        present = np.flatnonzero(np.bincount(ids[ids >= 0] if len(ids) and ids.min() < 0 else ids)).tolist()
        return {
            number: FormatTable(self, self._decoder.layout(number), np.flatnonzero(ids == number))
            for number in present
        }
