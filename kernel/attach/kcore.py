"""Read the kernel's memory by address, through /proc/kcore: an ELF core file, always up to date, never written.

Root with CAP_SYS_RAWIO may read it, unless the kernel is locked down for confidentiality.
"""

from __future__ import annotations

import errno
import struct
from typing import NamedTuple

from kernel.errors import FileRefused
from kernel.target import Target

PATH = "/proc/kcore"
_HEADER = struct.Struct("<16x2H4x3Q4x3H")
"""Fields: e_type e_machine, e_entry e_phoff e_shoff, e_ehsize e_phentsize e_phnum."""
_SEGMENT = struct.Struct("<2I6Q")
"""Fields: p_type p_flags p_offset p_vaddr p_paddr p_filesz p_memsz p_align."""
_LOAD = 1
_MOST_SEGMENTS = 4096
_ELF64_LITTLE = b"\x7fELF\x02\x01"


class CoreSegment(NamedTuple):
    """Contiguous range of addresses."""

    address: int
    size: int
    offset: int
    """Offset in the file."""


class Kcore:
    """Reader of one kernel's memory; every call may raise FileRefused."""

    def __init__(self, target: Target) -> None:
        self._target = target
        head = target.read(PATH, _HEADER.size)
        if len(head) < _HEADER.size or not head.startswith(_ELF64_LITTLE):
            raise FileRefused(PATH, errno.ENOEXEC)
        *_, table_offset, _, _, size, count = _HEADER.unpack(head)
        if size != _SEGMENT.size or count > _MOST_SEGMENTS:
            raise FileRefused(PATH, errno.ENOEXEC)
        table = target.read(PATH, size * count, table_offset)
        headers = (_SEGMENT.unpack_from(table, i) for i in range(0, len(table) - size + 1, size))
        self._segments = [CoreSegment(s[3], s[5], s[2]) for s in headers if s[0] == _LOAD]

    def read(self, address: int, size: int) -> bytes:
        """Return bytes from an address on; fewer at the end of a segment, empty outside of all."""
        for segment in self._segments:
            if segment.address <= address < segment.address + segment.size:
                room = segment.address + segment.size - address
                return self._target.read(PATH, min(size, room), segment.offset + address - segment.address)
        return b""
