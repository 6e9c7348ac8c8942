"""Read parts of a file at their offsets, or of bytes in memory: for files larger than what is held of them."""

from __future__ import annotations

import os
import stat
import weakref
from collections.abc import Iterator
from typing import Protocol

from foreign.files import read_file
from foreign.refusal import InputRefusal

_PIECE = 1 << 18
_LARGEST_PIPE = 192 << 20
"""Maximum bytes of a pipe, which are held as a whole, and twice while they are joined."""


class ByteSource(Protocol):
    """Bytes that are read where they are asked for."""

    @property
    def size(self) -> int: ...
    def read(self, at: int, size: int) -> bytes:
        """Return the bytes from an offset on; fewer at the end. Raises OSError."""
        ...


class BytesInMemory:
    """Byte source whose bytes are held."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self.size = len(data)

    def read(self, at: int, size: int) -> bytes:
        return bytes(self._data[at : at + size])


class BytesOfFile:
    """Byte source of a regular file, open as long as this value is used, without bytes that are appended later."""

    def __init__(self, fd: int, size: int) -> None:
        """Take a file descriptor, which is closed with this value."""
        self._fd = fd
        self.size = size
        weakref.finalize(self, os.close, fd)

    def read(self, at: int, size: int) -> bytes:
        """Return the bytes from an offset on, as `ByteSource`; without those that the file has lost since."""
        found: list[bytes] = []
        size = min(size, self.size - at)
        while size > 0 and (part := os.pread(self._fd, size, at)):
            found.append(part)
            at += len(part)
            size -= len(part)
        return found[0] if len(found) == 1 else b"".join(found)


def open_bytes(path: str | os.PathLike[str], most: int) -> ByteSource:
    """Open a regular file of at most `most` bytes, or read a pipe to its end.

    Raises:
        InputRefusal: the path is something else, or has more bytes.
        OSError: the file cannot be read.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        return BytesInMemory(read_file(path, min(most, _LARGEST_PIPE)))
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    kind = os.fstat(fd)
    source = BytesOfFile(fd, kind.st_size)
    if not stat.S_ISREG(kind.st_mode):
        raise InputRefusal(os.fspath(path), "no regular file")
    if kind.st_size > most:
        raise InputRefusal(os.fspath(path), f"{kind.st_size} bytes", f"{most} bytes")
    return source


def pieces_of(source: ByteSource) -> Iterator[bytes]:
    """Yield all bytes in pieces of at most 256 KiB. Raises OSError."""
    at = 0
    while part := source.read(at, _PIECE):
        yield part
        at += len(part)
