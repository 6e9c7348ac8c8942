"""Read sections, symbols and relocations of a compiled BPF object: a relocatable ELF file of 64 bits, little-endian.

Layouts are of include/uapi/linux/elf.h. Every number of the file is checked against its size.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

MAX_SECTIONS = 1 << 12
MAX_SYMBOLS = 1 << 16
_MAX_NAME = 512
_EM_BPF = 247
_SYMTAB, _NOBITS, _REL = 2, 8, 9
_CODE = 4
"""SHF_EXECINSTR."""
_FUNCTION = 2
"""STT_FUNC."""
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQ")


class ObjectError(ValueError):
    """Bytes that are no BPF object, or a damaged one."""


class ObjectSection(NamedTuple):
    """Section of the file."""

    name: str
    data: bytes
    is_code: bool


class ObjectSymbol(NamedTuple):
    """Symbol of the file."""

    name: str
    section: int
    """Index of its section; 0: it is defined elsewhere."""
    value: int
    """Bytes from the start of the section."""
    size: int
    is_function: bool
    is_global: bool


class ObjectElf(NamedTuple):
    """Contents of an ELF file of programs."""

    sections: tuple[ObjectSection, ...]
    symbols: tuple[ObjectSymbol, ...]
    relocations: dict[int, dict[int, ObjectSymbol]]
    """Symbol by the offset of the instruction that refers to it, by index of the section."""

    def section(self, name: str) -> bytes:
        """Return the content of the first section of a name; empty: there is none."""
        return next((one.data for one in self.sections if one.name == name), b"")


def read_elf_object(data: bytes) -> ObjectElf:
    """Read a file. Raises ObjectError."""
    if data[:4] != b"\x7fELF":
        raise ObjectError("no ELF file")
    if len(data) < _HEADER.size:
        raise ObjectError("an ELF file that is cut off")
    ident, kind, machine, *_, offset, _, _, _, _, each, number, names = _HEADER.unpack_from(data)
    if ident[4:6] != b"\2\1":
        raise ObjectError("an ELF file of 32 bits, or big-endian")
    if machine != _EM_BPF or kind != 1:
        raise ObjectError("an ELF file, but no BPF object")
    if each != _SECTION.size or not 0 < number <= MAX_SECTIONS or offset + number * each > len(data):
        raise ObjectError(f"{number} section headers of {each} bytes don't fit in the file")
    headers = [_SECTION.unpack_from(data, offset + at * each) for at in range(number)]
    strings = _content(data, headers[names]) if names < number else b""
    sections = tuple(
        ObjectSection(_name(strings, one[0]), _content(data, one), bool(one[2] & _CODE)) for one in headers
    )
    symbols = _symbols(sections, headers)
    return ObjectElf(sections, symbols, _relocations(sections, headers, symbols))


def _content(data: bytes, header: tuple[int, ...]) -> bytes:
    kind, begin, size = header[1], header[4], header[5]
    if kind in (0, _NOBITS):
        return b""
    if begin + size > len(data):
        raise ObjectError(f"a section of {size} bytes lies outside the file")
    return data[begin : begin + size]


def _name(strings: bytes, at: int) -> str:
    return strings[at : at + _MAX_NAME].partition(b"\0")[0].decode("utf-8", "replace")


def _symbols(sections: tuple[ObjectSection, ...], headers: list[tuple[int, ...]]) -> tuple[ObjectSymbol, ...]:
    place = next((at for at, one in enumerate(headers) if one[1] == _SYMTAB), None)
    if place is None:
        raise ObjectError("it has no symbols")
    data, link = sections[place].data, headers[place][6]
    if len(data) % _SYMBOL.size or len(data) // _SYMBOL.size > MAX_SYMBOLS or link >= len(sections):
        raise ObjectError("its symbols are damaged")
    strings = sections[link].data
    found = []
    for name, info, _, section, value, size in _SYMBOL.iter_unpack(data):
        own = section if section < len(sections) else 0
        text = _name(strings, name) if name else sections[own].name
        found.append(ObjectSymbol(text, own, value, size, info & 15 == _FUNCTION, info >> 4 > 0))
    return tuple(found)


def _relocations(
    sections: tuple[ObjectSection, ...], headers: list[tuple[int, ...]], symbols: tuple[ObjectSymbol, ...]
) -> dict[int, dict[int, ObjectSymbol]]:
    found: dict[int, dict[int, ObjectSymbol]] = {}
    for section, header in zip(sections, headers, strict=True):
        if header[1] != _REL or header[7] >= len(sections):
            continue
        if len(section.data) % _RELOCATION.size:
            raise ObjectError(f"{section.name} is damaged")
        own = found.setdefault(header[7], {})
        for offset, info in _RELOCATION.iter_unpack(section.data):
            if info >> 32 >= len(symbols):
                raise ObjectError(f"{section.name} refers to a symbol that is not there")
            own[offset] = symbols[info >> 32]
    return found
