"""Read a `probes.programs.program.Program` from the bytes of an ELF file.

pyelftools reads the headers; a single `struct` reads symbol tables, which may have a hundred thousand entries.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import NamedTuple

from elftools.common.exceptions import ELFError
from elftools.common.utils import struct_parse
from elftools.construct import Container
from elftools.elf.elffile import ELFFile

from foreign.packed import unxz
from foreign.refusal import InputRefusal
from probes.programs.program import Program, ProgramSegment, ProgramSymbol, StaticProbe, SymbolKind

MAX_SECTIONS = 1 << 17
MAX_SEGMENTS = 1 << 12
MAX_NAME = 8 << 10
MAX_ARGUMENTS = 1 << 10
"""Largest number of characters of a static probe's arguments."""
MAX_NAMES = 64 << 20
"""Largest number of characters in the names of all symbols of a file."""
MAX_HIDDEN = 64 << 20
"""Largest size in bytes of `.gnu_debugdata` once unpacked."""

_MACHINES = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64", "EM_RISCV": "riscv64", "EM_386": "i686"}
_UNDEFINED = 0
_OBJECT, _FUNC, _TLS, _IFUNC = 1, 2, 6, 10
_KINDS = {
    _OBJECT: SymbolKind.DATA,
    _FUNC: SymbolKind.FUNCTION,
    _TLS: SymbolKind.DATA,
    _IFUNC: SymbolKind.INDIRECT,
}
_HIDDEN = 0x8000
"""Bit in a symbol's version: not the default version that programs are linked with."""
_STAPSDT = 3
_NEEDED = 1


class ProgramError(ValueError):
    """Bytes that are no valid ELF file."""


class _Section(NamedTuple):
    name: str
    type: str
    address: int
    link: int
    data: bytes


def read_program(data: bytes) -> Program:
    """Read a whole file. Raises ProgramError."""
    try:
        return _read(data)
    except (ELFError, struct.error, UnicodeDecodeError, OverflowError, KeyError, MemoryError) as error:
        raise ProgramError(f"no ELF file, or a damaged one ({error})") from None


def _read(data: bytes) -> Program:
    elf = ELFFile(BytesIO(data))
    segments = tuple(_segments(elf))
    if not segments:
        raise ProgramError("nothing of it is ever loaded: an object file?")
    sections = _sections(elf, data)
    symbols: dict[str, dict[ProgramSymbol, None]] = {}
    stripped = not any(section.type == "SHT_SYMTAB" for section in sections)
    for name, symbol in (*_symbols(elf, sections), *_hidden(sections)):
        symbols.setdefault(name, {})[symbol] = None
    return Program(
        _MACHINES.get(elf["e_machine"], ""),
        segments,
        {name: tuple(entries) for name, entries in symbols.items()},
        _static(elf, sections),
        stripped,
        tuple(_needed(elf, sections)),
    )


def _segments(elf: ELFFile) -> Iterator[ProgramSegment]:
    if elf.num_segments() > MAX_SEGMENTS:
        raise ProgramError(f"{elf.num_segments()} program headers")
    for number in range(elf.num_segments()):
        header = elf.get_segment(number).header
        if header["p_type"] == "PT_LOAD":
            yield ProgramSegment(
                header["p_vaddr"], header["p_offset"], header["p_filesz"], bool(header["p_flags"] & 1)
            )


def _sections(elf: ELFFile, data: bytes) -> list[_Section]:
    """Return all sections; a section outside the file has no data. Raises ProgramError."""
    number, offset, entry_size = elf.num_sections(), elf["e_shoff"], elf["e_shentsize"]
    if (
        number > MAX_SECTIONS
        or offset + number * entry_size > len(data)
        or (number and entry_size < elf.structs.Elf_Shdr.sizeof())
    ):
        raise ProgramError(f"{number} section headers don't fit in the file")
    headers = [struct_parse(elf.structs.Elf_Shdr, elf.stream, offset + index * entry_size) for index in range(number)]
    index = elf.get_shstrndx()
    strings = headers[index]["sh_offset"] if number and index < number else 0
    inside = [_inside(header, data) for header in headers]
    if sum(
        header_inside["sh_size"] for header_inside, has_data in zip(headers, inside, strict=True) if has_data
    ) > 2 * len(data):
        raise ProgramError("its sections lie over each other")
    sections = []
    for header, has_data in zip(headers, inside, strict=True):
        begin = header["sh_offset"]
        sections.append(
            _Section(
                _text(data, strings + header["sh_name"]),
                str(header["sh_type"]),
                header["sh_addr"],
                header["sh_link"],
                data[begin : begin + header["sh_size"]] if has_data else b"",
            )
        )
    return sections


def _inside(header: Container, data: bytes) -> bool:
    return bool(header["sh_type"] != "SHT_NOBITS" and header["sh_offset"] + header["sh_size"] <= len(data))


def _text(data: bytes, start: int) -> str:
    """Return the string at an offset; empty if it has no end, or more than MAX_NAME bytes."""
    end = data.find(b"\0", start, start + MAX_NAME)
    return data[start : end if end >= 0 else start].decode("utf-8", "surrogateescape")


def _symbols(elf: ELFFile, sections: Sequence[_Section]) -> Iterator[tuple[str, ProgramSymbol]]:
    """Yield name and symbol from all tables. Raises ProgramError."""
    order = "<" if elf.little_endian else ">"
    entry = struct.Struct(order + ("IBBHQQ" if elf.elfclass == 64 else "IIIBBH"))
    remaining = MAX_NAMES
    for section in sections:
        if section.type not in ("SHT_SYMTAB", "SHT_DYNSYM") or section.link >= len(sections):
            continue
        strings = sections[section.link].data
        complete = len(section.data) // entry.size * entry.size
        versions = _versions(sections, order) if section.type == "SHT_DYNSYM" else ()
        for number, row in enumerate(entry.iter_unpack(section.data[:complete])):
            if elf.elfclass == 64:
                name, info, _, index, address, size = row
            else:
                name, address, size, info, _, index = row
            kind = _KINDS.get(info & 15)
            if index == _UNDEFINED:
                kind = SymbolKind.IMPORTED  # the table need not give an imported symbol's type
            if kind is not None and name and name < len(strings):
                text, at, version = _text(strings, name).partition("@")
                remaining -= len(text)
                if remaining < 0:
                    raise ProgramError(f"the names of its symbols have more than {MAX_NAMES} characters")
                old = bool(at) and not version.startswith("@")
                old = old or (number < len(versions) and versions[number] > _HIDDEN)
                yield text, ProgramSymbol(address, size, kind, old and index != _UNDEFINED)


def _versions(sections: Sequence[_Section], order: str) -> tuple[int, ...]:
    """Return the version number of each dynamic symbol; empty where there are no versions."""
    data = next((section.data for section in sections if section.type == "SHT_GNU_versym"), b"")
    return struct.unpack(f"{order}{len(data) // 2}H", data[: len(data) // 2 * 2])


def _hidden(sections: Sequence[_Section]) -> Iterator[tuple[str, ProgramSymbol]]:
    """Yield the symbols of the compressed ELF file that Fedora and others leave in stripped programs."""
    packed = next((section.data for section in sections if section.name == ".gnu_debugdata"), b"")
    if not packed:
        return
    try:
        data = unxz(packed, ".gnu_debugdata", MAX_HIDDEN)
    except InputRefusal:
        return
    inner = ELFFile(BytesIO(data))
    yield from _symbols(inner, _sections(inner, data))


def _static(elf: ELFFile, sections: Sequence[_Section]) -> dict[str, tuple[StaticProbe, ...]]:
    """Return the places of static probes: notes `stapsdt`, with addresses relative to `.stapsdt.base` at link
    time.
    """
    order, size = "<" if elf.little_endian else ">", elf.elfclass // 8
    word = "Q" if size == 8 else "I"
    base = next((section.address for section in sections if section.name == ".stapsdt.base"), None)
    probes_by_name: dict[str, dict[StaticProbe, None]] = {}
    for section in sections:
        if section.name != ".note.stapsdt":
            continue
        for content in _notes(section.data, order):
            place, linked, counter = struct.unpack_from(f"{order}3{word}", content)
            shift = 0 if base is None else base - linked
            provider, name, arguments = (content[3 * size :] + b"\0\0\0").split(b"\0")[:3]
            key = f"{provider.decode('utf-8', 'surrogateescape')}:{name.decode('utf-8', 'surrogateescape')}"
            told = arguments[:MAX_ARGUMENTS].decode("ascii", "replace")
            probe = StaticProbe(place + shift, counter + shift if counter else 0, told)
            probes_by_name.setdefault(key, {})[probe] = None
    return {key: tuple(probes) for key, probes in probes_by_name.items()}


def _notes(data: bytes, order: str) -> Iterator[bytes]:
    """Yield the content of each note of a static probe."""
    at = 0
    while at + 12 <= len(data):
        name_size, size, kind = struct.unpack_from(f"{order}III", data, at)
        name = data[at + 12 : at + 12 + name_size]
        begin = at + 12 + -(-name_size // 4) * 4
        if kind == _STAPSDT and name == b"stapsdt\0" and begin + size <= len(data):
            yield data[begin : begin + size]
        at = begin + -(-size // 4) * 4


def _needed(elf: ELFFile, sections: Sequence[_Section]) -> Iterator[str]:
    """Yield the names of the libraries in the dynamic section."""
    entry = struct.Struct(("<" if elf.little_endian else ">") + ("QQ" if elf.elfclass == 64 else "II"))
    for section in sections:
        if section.type != "SHT_DYNAMIC" or section.link >= len(sections):
            continue
        complete = len(section.data) // entry.size * entry.size
        for tag, value in entry.iter_unpack(section.data[:complete]):
            if tag == _NEEDED:
                yield _text(sections[section.link].data, value)
