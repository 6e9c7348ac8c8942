"""Read sections of debug information with bounds on unpacked bytes and on work: small files may ask for much."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, overload

from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct import Container
from elftools.elf.sections import Section

from btf.debug.dwarf import READER_ERRORS, DwarfError

DAMAGE = (*READER_ERRORS, ELFError, DWARFError)
"""Errors that pyelftools raises for damaged debug information."""

LINE_SECTIONS = tuple(
    f".debug_{name}"
    for name in (
        *("info", "abbrev", "str", "line", "line_str", "aranges", "ranges", "rnglists", "addr", "str_offsets"),
    )
)
"""Sections that source lines are read from."""
VARIABLE_SECTIONS = (".debug_loc", ".debug_loclists", ".debug_frame", ".eh_frame")
"""Sections that the values of variables are read from beside these."""
_MOST_UNPACKED = 384 << 20
"""Maximum bytes of all packed sections of a file."""
_BLOCK, _PIECE = 1 << 13, 1 << 20
"""Bytes that are read at once for fewer, and in a search."""
_MOST_CONTINUED = 4096
"""Maximum single bytes in a row that each continue a LEB128."""


class WorkBound:
    """Bound on the work for one question."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def begin(self) -> None:
        """Allow all of it again."""
        self._left = self._most

    def take(self, amount: int) -> None:
        """Use some of it. Raises DwarfError: there is not so much."""
        self._left -= amount
        if self._left < 0:
            raise DwarfError("it takes more work than its size allows")


class DebugSection:
    """Bytes of a section, which can be searched, indexed, and read as a stream.

    They are read where they are asked for: a mapping would end the process where somebody cuts the file meanwhile.
    """

    def __init__(self, read: Callable[[int, int], bytes], size: int) -> None:
        """Take a function that returns so many bytes at an offset, fewer at an end, and the size."""
        self._read, self._size = read, size
        self._block = 0, b""
        """Offset of the block that was read last, and its bytes; replaced as one."""

    @classmethod
    def of_file(cls, fd: int, start: int, size: int) -> DebugSection:
        """Return a section of an open file, as far as that goes now."""
        return cls(
            lambda at, number: os.pread(fd, number, start + at), max(0, min(size, os.fstat(fd).st_size - start))
        )

    @classmethod
    def of_bytes(cls, data: bytes) -> DebugSection:
        """Return an unpacked section."""
        return cls(lambda at, number: data[at : at + number], len(data))

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int, /) -> int: ...
    @overload
    def __getitem__(self, place: slice, /) -> bytes: ...
    def __getitem__(self, place: int | slice, /) -> int | bytes:
        if isinstance(place, slice):
            start, stop, _ = place.indices(self._size)
            return self._part(start, stop)
        if not 0 <= place < self._size:
            raise IndexError(place)
        start, block = self._block
        return block[place - start] if 0 <= place - start < len(block) else self._part(place, place + 1)[0]

    def _part(self, start: int, stop: int) -> bytes:
        """Return some bytes. Raises DwarfError: the file has become shorter, or can't be read."""
        begin, block = self._block
        if not begin <= start <= stop <= begin + len(block):
            begin, block = start, self._whole(start, max(stop, min(start + _BLOCK, self._size)))
            if stop - start <= _BLOCK:
                self._block = begin, block
        return block[start - begin : stop - begin]

    def _whole(self, start: int, stop: int) -> bytes:
        found = b""
        while len(found) < stop - start:  # one read returns 2 GB at most
            try:
                part = self._read(start + len(found), stop - start - len(found))
            except OSError as error:
                raise DwarfError(f"the file can't be read: {error.strerror}") from None
            if not part:
                raise DwarfError("the file became shorter while it was read")
            found += part
        return found

    def places(self, wanted: bytes) -> Iterator[int]:
        """Yield the offset of every occurrence of some bytes."""
        for begin in range(0, self._size, _PIECE):
            piece = self[begin : begin + _PIECE + len(wanted) - 1]
            at = piece.find(wanted)
            while at >= 0:
                yield begin + at
                at = piece.find(wanted, at + 1)


class DebugSectionStream:
    """A section as pyelftools reads it: in place, each read at the expense of some work."""

    def __init__(self, part: DebugSection, work: WorkBound) -> None:
        self._part, self._work = part, work
        self._at = self._continued = 0

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes. Raises DwarfError: there is too much work, or a number of too many bytes."""
        data = self._part[self._at : self._at + size if size >= 0 else None]
        self._at += len(data)
        self._work.take(1 + len(data) // 64)
        self._continued = self._continued + 1 if len(data) == 1 and data[0] & 0x80 else 0
        if self._continued > _MOST_CONTINUED:
            raise DwarfError(f"a number of more than {_MOST_CONTINUED} bytes")
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Set the offset of the next byte. Raises ValueError: it is negative."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at}.get(whence, len(self._part))
        if base + offset < 0:
            raise ValueError(f"no offset {base + offset}")
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        """Return the offset of the next byte."""
        return self._at


def parts_of(
    elf: Any,  # noqa: ANN401 - of pyelftools
    fd: int,
    headers: Mapping[bytes, Container],
) -> Iterator[tuple[str, DebugSection]]:
    """Yield the sections with content, and their names. Raises DwarfError, and errors of pyelftools."""
    left = _MOST_UNPACKED
    for name, header in headers.items():
        section: Any = Section(header, name.decode(), elf)
        if section["sh_type"] == "SHT_NOBITS":
            continue
        if not section.compressed:
            yield section.name, DebugSection.of_file(fd, int(section["sh_offset"]), int(section["sh_size"]))
            continue
        left -= max(section.data_size, int(section["sh_size"]))
        if left < 0:
            raise DwarfError(f"its packed sections have more than {_MOST_UNPACKED} bytes")
        try:
            data = section.data()
        except zlib.error as error:
            raise DwarfError(f"{section.name} can't be unpacked: {error}") from None
        yield section.name, DebugSection.of_bytes(data)
