"""Read the `.BTF` section of an ELF file: a vmlinux, a module's .ko, a BPF object. Uses pyelftools' layouts."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Collection
from typing import IO, NamedTuple

from elftools.common.exceptions import ELFError
from elftools.common.utils import struct_parse
from elftools.construct import Container
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section

from btf.errors import BtfError
from btf.header import parse_header

MAX_SECTIONS = 1 << 17
MAX_SIZE = 256 << 20
"""Maximum bytes of a section; the BTF of a kernel has about 6 million."""


class ElfBtf(NamedTuple):
    """BTF sections of an ELF file."""

    data: bytes
    """Section .BTF."""
    base: bytes | None = None
    """Section .BTF.base: the part of its base that an out-of-tree module includes (since Linux 6.11)."""

    @property
    def split(self) -> bool:
        """True if the BTF continues that of a base."""
        return self.base is not None or is_split(self.data)


def is_split(data: bytes) -> bool:
    """Return whether raw BTF is split BTF: only a base's strings begin with the empty string.

    Raises:
        BtfError: the header is invalid.
    """
    header = parse_header(data)
    return data[header.strings : header.strings + 1] != b"\0"


def read_elf(source: bytes | str | os.PathLike[str]) -> ElfBtf:
    """Read the BTF of an ELF file, given by its bytes or its path.

    Raises:
        BtfError: no ELF file, a damaged one, or one without .BTF.
        OSError: the path cannot be read.
    """
    with io.BytesIO(source) if isinstance(source, bytes) else open(source, "rb") as stream:
        try:
            elf = ELFFile(stream)
            headers = section_headers(elf, (b".BTF", b".BTF.base"))
            found = {name: _content(elf, header, name) for name, header in headers.items()}
        except ELFError as error:
            raise BtfError(f"damaged ELF file: {error}", stream.tell()) from None
    if b".BTF" not in found:
        raise BtfError("the ELF file has no section .BTF", 0)
    return ElfBtf(found[b".BTF"], found.get(b".BTF.base"))


def section_headers(elf: ELFFile, names: Collection[bytes]) -> dict[bytes, Container]:
    """Return the headers of the first sections with these names. Names are compared in place, which bounds the length
    of names read.

    Raises:
        BtfError: there are too many headers, or they lie outside the file.
        ELFError: a header is damaged.
    """
    stream: IO[bytes] = elf.stream
    number, offset, each = elf.num_sections(), elf["e_shoff"], elf["e_shentsize"]
    size = elf.structs.Elf_Shdr.sizeof()
    if number and (each < size or number > MAX_SECTIONS or offset + number * each > elf.stream_len):
        raise BtfError(f"{number} ELF section headers of {each} bytes don't fit in the file", offset)
    if not number or elf.get_shstrndx() >= number:
        return {}

    def header(index: int) -> Container:
        parsed: Container = struct_parse(elf.structs.Elf_Shdr, stream, stream_pos=offset + index * each)
        return parsed

    strings = header(elf.get_shstrndx())["sh_offset"]
    found: dict[bytes, Container] = {}
    for index in range(number):
        section = header(index)
        stream.seek(min(strings + section["sh_name"], elf.stream_len))
        name = stream.read(max(map(len, names)) + 1).partition(b"\0")[0]
        if name in names and name not in found:
            found[name] = section
    return found


def _content(elf: ELFFile, header: Container, name: bytes) -> bytes:
    section = Section(header, name.decode(), elf)
    begin, size = header["sh_offset"], header["sh_size"]
    if header["sh_type"] == "SHT_NOBITS" or begin + size > elf.stream_len or section.data_size > MAX_SIZE:
        raise BtfError(f"section {name.decode()} of {section.data_size} bytes lies outside the file", begin)
    try:
        return section.data()
    except zlib.error as error:
        raise BtfError(f"section {name.decode()} can't be decompressed: {error}", begin) from None
