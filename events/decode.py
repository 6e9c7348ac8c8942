"""Decode records to values, with one precompiled `struct.Struct` per format."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from events.format import ByteOrder, EventFormat, Field, FieldKind, FieldLocation, HeaderPage, is_unmapped
from events.subbuffer import DATA_BYTES, index, payload

Scalar = int | str | bool | bytes | None
Value = Scalar | tuple[Scalar, ...]
"""Value of a field; None: the kernel could not read it (it prints `(fault)`), or the record ends before it."""

_CODES = {1: "b", 2: "h", 4: "i", 8: "q"}
_WHOLE = (FieldKind.INT, FieldKind.POINTER, FieldKind.SYMBOL, FieldKind.BOOL, FieldKind.CHAR)

_NEVER = 1 << 62

Convert = Callable[[bytes, int, int, Value], Value]
"""Function (buffer, start of the record, its length, value unpacked by struct) -> value."""


Row = tuple[int, EventFormat, tuple[Value, ...]]
"""Tuple (time stamp, format, values in the order of `format.names`); a plain tuple, for speed."""


def text_of(raw: bytes) -> str:
    r"""Return bytes of the kernel as text, up to the first NUL; bytes that are not UTF-8 appear as `\xNN`."""
    return raw.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")


def char_of(value: int) -> str:
    """Return one byte as the kernel's `%c` prints it."""
    return bytes((value & 0xFF,)).decode("utf-8", "backslashreplace")


class Layout:
    """Compiled decoder for the records of one format."""

    def __init__(self, fmt: EventFormat, byteorder: ByteOrder) -> None:
        self.format = fmt
        self.byteorder = byteorder
        self._order = "<" if byteorder == "little" else ">"
        self._singles = [struct.Struct(self._order + _code(field)) for field in fmt.fields]
        self._converters = [self._converter(field) for field in fmt.fields]
        self._special = [(n, convert) for n, convert in enumerate(self._converters) if convert]
        faults = fmt.faults
        self._faults = struct.Struct(f"{self._order}{faults.offset}xI") if faults is not None else None
        self._faulty = [(n, field.fault) for n, field in enumerate(fmt.fields) if field.fault]
        self._pointed = [(n, self._pointer_places(field)) for n, field in enumerate(fmt.fields) if field.pointers]
        self.special = bool(self._special or self._faults or self._pointed)
        """True if `finish` is to be called on the result of `unpack`."""
        whole = self._compile()
        self.unpack = whole.unpack_from if whole else self._singles[0].unpack_from
        self.size = max(whole.size, faults.end if faults is not None else 0) if whole else _NEVER
        """Minimum bytes of a record for `unpack`."""

    def _pointer_places(self, field: Field) -> list[tuple[int, int]]:
        """Return the numbers of the fields with a field's pointers, and their sizes in bytes."""
        return [(n, one.size) for n, one in enumerate(self.format.fields) if one.name in field.pointers]

    def _compile(self) -> struct.Struct | None:
        """Return one struct for all fields; None if they overlap or are out of order."""
        code, at = self._order, 0
        for field, single in zip(self.format.fields, self._singles, strict=True):
            if field is self.format.function:  # the bytes of another field, which `_converter` reads
                code += "0s"
                continue
            if field.offset < at:
                return None
            code += f"{field.offset - at}x" + single.format[1:]
            at = field.offset + single.size
        return struct.Struct(code)

    def values(self, buffer: bytes, start: int, length: int) -> tuple[Value, ...]:
        """Return the values of the record at `buffer[start:start + length]`, in the order of the fields."""
        if length < self.size:
            return self._one_by_one(buffer, start, length)
        values: tuple[Value, ...] = self.unpack(buffer, start)
        return self.finish(buffer, start, length, values) if self.special else values

    def named(self, record: bytes) -> dict[str, Value]:
        """Return the values of a record by field name."""
        return dict(zip(self.format.names, self.values(record, 0, len(record)), strict=True))

    def finish(self, buffer: bytes, start: int, length: int, values: tuple[Value, ...]) -> tuple[Value, ...]:
        """Replace the results of `unpack` for strings, arrays, characters and faults by their values."""
        row = list(values)
        for number, convert in self._special:
            row[number] = convert(buffer, start, length, row[number])
        self._drop_faulty(row, buffer, start, length)
        return tuple(row)

    def _drop_faulty(self, row: list[Value], buffer: bytes, start: int, length: int) -> None:
        """Take from a row the numbers of which the record tells that they could not be read."""
        if unread := [n for n, pointers in self._pointed if any(is_unmapped(row[at], size) for at, size in pointers)]:
            for number in unread:
                row[number] = None
        if self._faults is None or length < self._faults.size:
            return
        if faults := self._faults.unpack_from(buffer, start)[0]:
            for number, bit in self._faulty:
                if faults & bit:
                    row[number] = None

    def _one_by_one(self, buffer: bytes, start: int, length: int) -> tuple[Value, ...]:
        row: list[Value] = []
        for field, single, convert in zip(self.format.fields, self._singles, self._converters, strict=True):
            if field.end > length:
                row.append(None)
                continue
            value: Value = single.unpack_from(buffer, start + field.offset)[0]
            row.append(convert(buffer, start, length, value) if convert else value)
        self._drop_faulty(row, buffer, start, length)
        return tuple(row)

    def _converter(self, field: Field) -> Convert | None:
        if field is self.format.function:
            number = struct.Struct(self._order + _code(field))
            return lambda buffer, start, _length, _value: number.unpack_from(buffer, start + field.offset)[0]
        if field.loc is not FieldLocation.INLINE:
            return self._dynamic(field)
        if field.kind is FieldKind.STRING:
            return self._string(field)
        if field.count is not None:
            element = self.elements(field)
            offset, size = field.offset, field.size
            return lambda buffer, start, length, _: element(
                buffer[start + offset : start + (offset + size if size else length)]
            )
        if field.kind is FieldKind.CHAR:
            return lambda _buffer, _start, _length, value: char_of(value)  # type: ignore[arg-type]
        return None

    def _string(self, field: Field) -> Convert:
        if field.size:
            return lambda _buffer, _start, _length, value: text_of(value)  # type: ignore[arg-type]
        offset = field.offset
        return lambda buffer, start, length, _: text_of(buffer[start + offset : start + length])

    def _dynamic(self, field: Field) -> Convert:
        element: Callable[[bytes], Value] = text_of if field.kind is FieldKind.STRING else self.elements(field)
        base = field.end if field.loc is FieldLocation.REL else 0
        may_be_empty = field.kind is not FieldKind.STRING  # a readable string has at least its NUL

        later = [struct.Struct(f"{self._order}{one.offset}xI") for one in self.format.later_texts(field)]

        def read_location(buffer: bytes, start: int, length: int, value: Value) -> Value:
            size, offset = value >> 16, base + (value & 0xFFFF)  # type: ignore[operator]
            if offset + size > length or not (size or may_be_empty):
                return None
            if any(one.size <= length and one.unpack_from(buffer, start)[0] & 0xFFFF == offset for one in later):
                return None
            return element(buffer[start + offset : start + offset + size])

        if field.kind is not FieldKind.STRING or field.count is None:
            return read_location
        locations = struct.Struct(f"{self._order}{field.count}I")
        return lambda buffer, start, length, _: tuple(
            read_location(buffer, start, length, loc)  # type: ignore[misc]
            for loc in locations.unpack_from(buffer, start + field.offset)
        )

    def elements(self, field: Field) -> Callable[[bytes], Value]:
        """Return a function that decodes an array from its bytes."""
        width = field.width
        if field.kind not in _WHOLE:
            return lambda raw: tuple(raw[at : at + width] for at in range(0, len(raw), width or 1))
        code = _element_code(field)

        def read(raw: bytes) -> Value:
            number = len(raw) // width
            found = struct.unpack(f"{self._order}{number}{code}", raw[: number * width])
            return tuple(map(char_of, found)) if field.kind is FieldKind.CHAR else found

        return read


def _element_code(field: Field) -> str:
    if field.kind is FieldKind.BOOL:
        return "?"
    code = _CODES[field.width]
    return code if field.signed else code.upper()


def _code(field: Field) -> str:
    """Return the struct code of a whole field."""
    if field.loc is not FieldLocation.INLINE:
        return "I" if field.size == 4 else f"{field.size}s"
    if field.count is None and field.kind in _WHOLE:
        return _element_code(field)
    return f"{field.size}s"


class Decoder:
    """Formats by id, each compiled on first use."""

    def __init__(self, formats: Mapping[int, EventFormat], header: HeaderPage) -> None:
        """Take formats by id, and the layout of the pages."""
        self.formats: dict[int, EventFormat] = dict(formats)
        """Formats by id; more may be added while events arrive."""
        self.header = header
        self._layouts: dict[int, Layout] = {}
        order = "<" if header.byteorder == "little" else ">"
        self._entry = struct.Struct(order + "HBBi")

    def layout(self, number: int) -> Layout:
        """Return the compiled layout of a format.

        Raises:
            KeyError: no format has this id.
        """
        fmt = self.formats[number]
        layout = self._layouts.get(number)
        if layout is None or layout.format is not fmt:
            layout = self._layouts[number] = Layout(fmt, self.header.byteorder)
        return layout

    def pid(self, record: bytes) -> int:
        """Return `common_pid` of a record; -1 if the record is too short to have one."""
        if len(record) < self._entry.size:
            return -1
        return int(self._entry.unpack_from(record)[3])

    def values(self, number: int, record: bytes) -> dict[str, Value]:
        """Return all fields of a record by name; empty if no format has this id."""
        return self.layout(number).named(record) if number in self.formats else {}

    def page(self, page: bytes) -> list[Row]:
        """Return all events of a page that have a known format."""
        rows: list[Row] = []
        header, layouts, formats = self.header, self._layouts, self.formats
        sizes = DATA_BYTES[header.byteorder]
        walked = index(page, (0, len(page)), header)
        for ts, word, number in zip(*walked[:3], strict=True):
            layout = layouts.get(number)
            if layout is None:
                if number not in formats:
                    continue
                layout = self.layout(number)
            start = word * 4 + 4
            length = sizes[page[start - 4]]
            if not length:
                start, length = payload(page, word, header)
            if length < layout.size:
                values = layout.values(page, start, length)
            else:
                values = layout.unpack(page, start)
                if layout.special:
                    values = layout.finish(page, start, length, values)
            rows.append((ts, layout.format, values))
        return rows
