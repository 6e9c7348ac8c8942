"""Read sections of debug information with bounds on unpacked bytes and on work: small files may ask for much."""

from __future__ import annotations

import io
import mmap
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct import ConstructError, Container
from elftools.elf.sections import Section

from btf.debug.dwarf import READER_ERRORS, DwarfError

DAMAGE = (*READER_ERRORS, ELFError, DWARFError, ConstructError)
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
    """Section that can be searched, viewed, and read as a stream."""

    def __init__(self, source: mmap.mmap | bytes, start: int, size: int) -> None:
        self._source, self._start = source, min(start, len(source))  # a search takes no number beyond 63 bits
        self.view = memoryview(source)[self._start : self._start + size]

    def places(self, wanted: bytes) -> Iterator[int]:
        """Yield the offset of every occurrence of some bytes."""
        end = self._start + len(self.view)
        at = self._source.find(wanted, self._start, end)
        while at >= 0:
            yield at - self._start
            at = self._source.find(wanted, at + 1, end)


class DebugSectionStream:
    """A section as pyelftools reads it: in place, each read at the expense of some work."""

    def __init__(self, part: DebugSection, work: WorkBound) -> None:
        self._view, self._work = part.view, work
        self._at = self._continued = 0

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes. Raises DwarfError: there is too much work, or a number of too many bytes."""
        data = bytes(self._view[self._at : self._at + size if size >= 0 else None])
        self._at += len(data)
        self._work.take(1 + len(data) // 64)
        self._continued = self._continued + 1 if len(data) == 1 and data[0] & 0x80 else 0
        if self._continued > _MOST_CONTINUED:
            raise DwarfError(f"a number of more than {_MOST_CONTINUED} bytes")
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Set the offset of the next byte. Raises ValueError: it is negative."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at}.get(whence, len(self._view))
        if base + offset < 0:
            raise ValueError(f"no offset {base + offset}")
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        """Return the offset of the next byte."""
        return self._at


def parts_of(
    elf: Any,  # noqa: ANN401 - of pyelftools
    source: mmap.mmap,
    headers: Mapping[bytes, Container],
) -> Iterator[tuple[str, DebugSection]]:
    """Yield the sections with content, and their names. Raises DwarfError, and errors of pyelftools."""
    left = _MOST_UNPACKED
    for name, header in headers.items():
        section: Any = Section(header, name.decode(), elf)
        if section["sh_type"] == "SHT_NOBITS":
            continue
        if not section.compressed:
            yield section.name, DebugSection(source, int(section["sh_offset"]), int(section["sh_size"]))
            continue
        left -= section.data_size
        if left < 0:
            raise DwarfError(f"its packed sections have more than {_MOST_UNPACKED} bytes")
        try:
            data = section.data()
        except zlib.error as error:
            raise DwarfError(f"{section.name} can't be unpacked: {error}") from None
        yield section.name, DebugSection(data, 0, len(data))
