"""Read those parts of DWARF that are needed to find inlined functions: entries in sequence, with a few attributes.

Every entry's size is computed from its abbreviation, so that irrelevant entries are skipped: one microsecond each,
where a general reader takes two hundred. Supports DWARF 4 and 5 with 32-bit offsets, as kernels have.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple, Protocol, overload

SUBPROGRAM, INLINED_SUBROUTINE = 0x2E, 0x1D
NAME, LOW_PC, ABSTRACT_ORIGIN, ENTRY_PC = 0x03, 0x11, 0x31, 0x52

_SIZES = {0x01: 8, 0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x0C: 1, 0x0E: 4, 0x10: 4, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8}
_SIZES |= {0x17: 4, 0x19: 0, 0x1C: 4, 0x1D: 4, 0x1E: 16, 0x1F: 4, 0x20: 8, 0x21: 0, 0x24: 8, 0x25: 1, 0x26: 2}
_SIZES |= {0x27: 3, 0x28: 4, 0x29: 1, 0x2A: 2, 0x2B: 3, 0x2C: 4, 0x1F20: 4, 0x1F21: 4}
"""Sizes in bytes of the DW_FORM_* of fixed size."""
_LEB = frozenset({0x0D, 0x0F, 0x15, 0x1A, 0x1B, 0x22, 0x23})
_BLOCKS = {0x03: 2, 0x04: 4, 0x0A: 1, 0x09: 0, 0x18: 0}
"""Bytes of the length prefix of DW_FORM_block* and exprloc; 0: a LEB128."""
_STRING, _IMPLICIT_CONST = 0x08, 0x21
_ADDR, _STRP, _REF_ADDR = 0x01, 0x0E, 0x10
_RELATIVE = {0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8}
"""Forms DW_FORM_ref* relative to the unit, with their sizes in bytes."""
_HEADER5, _HEADER4 = Struct("<IHBBI"), Struct("<IHIB")


_MOST_UNITS = 1 << 17
"""Maximum number of units; kernels have some thousands."""
_MOST_FORMS = 1 << 16
"""Maximum number of attributes in a table of abbreviations."""
_MOST_BITS = 10 * 7
"""Maximum bits of a LEB128."""
READER_ERRORS = (
    *(AssertionError, AttributeError, IndexError, KeyError, NotImplementedError, OverflowError, RecursionError),
    *(TypeError, ValueError, ZeroDivisionError),
)
"""Errors that pyelftools, and who reads what it found, raise for damaged debug information beside its own; each has
its damaged file in `tests/pure/btf/test_debug_damage.py`."""


class ByteSource(Protocol):
    """Bytes, or a section that is read where it is asked for."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, place: int, /) -> int: ...
    @overload
    def __getitem__(self, place: slice, /) -> bytes: ...


class DwarfError(Exception):
    """Error for invalid bytes, or a kind of DWARF that is not supported."""


class SourceLine(NamedTuple):
    """Line of source code that an instruction was made from."""

    file: str
    """Path as in the build: `fs/read_write.c`, with the folder of the build left out."""
    line: int
    """Line, from 1."""
    inlined: tuple[str, ...] = ()
    """Functions whose inlined code the instruction is of, the outermost first."""

    @property
    def text(self) -> str:
        """File and line: `fs/read_write.c:554`."""
        return f"{self.file}:{self.line}"


class Unit(NamedTuple):
    """Compilation unit in .debug_info."""

    start: int
    first: int
    """Offset of the unit's first entry."""
    end: int
    abbreviations: int
    """Offset in .debug_abbrev."""


class DebugEntry(NamedTuple):
    """Debugging entry with its requested attributes."""

    offset: int
    """Offset in .debug_info."""
    tag: int
    values: dict[int, int]
    """Value of each attribute: an address, or the offset of a string, or of another entry in .debug_info."""


class Abbreviation(NamedTuple):
    """Layout of the entries with one abbreviation code."""

    tag: int
    forms: tuple[tuple[int, int], ...]
    """Attributes with their DW_FORM."""
    size: int | None
    """Size of the entry after its code; None: variable."""


def units(info: ByteSource) -> Iterator[Unit]:
    """Yield all units of .debug_info.

    Raises:
        DwarfError: the data is invalid or not supported.
    """
    at = number = 0
    while at + _HEADER5.size <= len(info):
        number += 1
        if number > _MOST_UNITS:
            raise DwarfError(f"more than {_MOST_UNITS} units of debug information")
        length, version, kind, size, abbreviations = _HEADER5.unpack(info[at : at + _HEADER5.size])
        header = _HEADER5.size
        if version <= 4:
            length, version, abbreviations, size = _HEADER4.unpack(info[at : at + _HEADER4.size])
            header, kind = _HEADER4.size, 1
        end = at + 4 + length
        if length >= 0xFFFFFFF0 or version not in (2, 3, 4, 5) or size != 8 or end > len(info):
            raise DwarfError(f"debug information of an unknown kind at {at:#x}")
        if kind == 1:  # DW_UT_compile
            yield Unit(at, at + header, end, abbreviations)
        at = end


def abbreviations(data: ByteSource, at: int) -> dict[int, Abbreviation]:
    """Return the table of .debug_abbrev at an offset.

    Raises:
        DwarfError: the table is truncated.
    """
    table: dict[int, Abbreviation] = {}
    left = _MOST_FORMS
    try:
        while True:
            code, at = unsigned_leb(data, at)
            if not code:
                return table
            tag, at = unsigned_leb(data, at)
            at += 1  # DW_CHILDREN_*
            forms, size = [], 0
            fixed = True
            while True:
                attribute, at = unsigned_leb(data, at)
                form, at = unsigned_leb(data, at)
                left -= 1
                if left < 0:
                    raise DwarfError(f"a table of abbreviations with more than {_MOST_FORMS} attributes")
                if not attribute and not form:
                    break
                if form == _IMPLICIT_CONST:
                    _, at = unsigned_leb(data, at)
                forms.append((attribute, form))
                fixed = fixed and form in _SIZES
                size += _SIZES.get(form, 0)
            table[code] = Abbreviation(tag, tuple(forms), size if fixed else None)
    except IndexError:
        raise DwarfError("abbreviations without an end") from None


def entries(
    info: ByteSource, unit: Unit, table: dict[int, Abbreviation], tags: frozenset[int]
) -> Iterator[DebugEntry]:
    """Yield the entries of a unit that have one of `tags`, with attributes that are addresses, strings or references.

    Raises:
        DwarfError: the data is invalid or not supported.
    """
    data, at = info[unit.start : unit.end], unit.first - unit.start
    try:
        while at < len(data):
            offset = at
            code = data[at]
            at += 1
            if code & 0x80:
                code, at = unsigned_leb(data, offset)
            if not code:
                continue
            tag, forms, size = table[code]
            if tag in tags:
                values, at = _values(data, at, forms, unit.start)
                yield DebugEntry(unit.start + offset, tag, values)
            elif size is not None:
                at += size
            else:
                for _, form in forms:
                    at = _value_end(data, at, form)
    except (IndexError, KeyError):
        raise DwarfError(f"an entry that makes no sense at {unit.start + at:#x}") from None


def _values(info: ByteSource, at: int, forms: tuple[tuple[int, int], ...], unit: int) -> tuple[dict[int, int], int]:
    values = {}
    for attribute, form in forms:
        value_end = _value_end(info, at, form)
        if form in _RELATIVE:
            values[attribute] = unit + int.from_bytes(info[at:value_end], "little")
        elif form in (_ADDR, _STRP, _REF_ADDR):
            values[attribute] = int.from_bytes(info[at:value_end], "little")
        at = value_end
    return values, at


def _value_end(info: ByteSource, at: int, form: int) -> int:
    """Return the offset after a value."""
    size = _SIZES.get(form)
    if size is not None:
        return at + size
    if form in _LEB:
        return unsigned_leb(info, at)[1]
    if form in _BLOCKS:
        width = _BLOCKS[form]
        if not width:
            length, at = unsigned_leb(info, at)
            return at + length
        return at + width + int.from_bytes(info[at : at + width], "little")
    if form == _STRING:
        while info[at]:
            at += 1
        return at + 1
    raise DwarfError(f"a value of an unknown form {form:#x}")


def unsigned_leb(data: ByteSource, at: int) -> tuple[int, int]:
    """Decode an unsigned LEB128; return it and its end, which is also correct for a signed one."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > _MOST_BITS:
            raise DwarfError(f"a number of more than {_MOST_BITS} bits")
