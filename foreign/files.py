"""Read files given by name, with bounds: no devices, and a maximum number of bytes."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from foreign.refusal import InputRefusal

_PIECE = 1 << 20


def home_path(text: str) -> Path:
    """Return a path as typed: `~` and `~user` at its beginning are home folders, where there is such a user."""
    # `Path.expanduser` raises RuntimeError of a user that is none.
    return Path(os.path.expanduser(text))


def read_file(path: str | os.PathLike[str], most: int) -> bytes:
    """Return the bytes of a regular file or a pipe, at most `most`.

    Raises:
        InputRefusal: the path is something else (a device has no end), or has more bytes.
        OSError: the file cannot be read.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        kind = os.fstat(fd)
        if stat.S_ISFIFO(kind.st_mode):
            os.set_blocking(fd, True)
        elif not stat.S_ISREG(kind.st_mode):
            raise InputRefusal(os.fspath(path), "no regular file")
        if kind.st_size > most:
            raise InputRefusal(os.fspath(path), f"{kind.st_size} bytes", f"{most} bytes")
        parts, left = list[bytes](), most
        # All of a regular file in one part: joining parts holds them twice.
        while part := os.read(fd, min(max(_PIECE, kind.st_size + 1), left + 1)):
            parts.append(part)
            left -= len(part)
            if left < 0:
                raise InputRefusal(os.fspath(path), "more bytes", f"{most} bytes")
        return b"".join(parts)
    finally:
        os.close(fd)


@contextlib.contextmanager
def opened_file(path: str | os.PathLike[str], most: int) -> Iterator[tuple[BinaryIO, int]]:
    """Open a regular file that is read in pieces, and yield it with its size in bytes, at most `most`.

    Raises:
        InputRefusal: the path is something else, or has more bytes.
        OSError: the file cannot be read.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        os.close(fd)
        raise InputRefusal(os.fspath(path), "no regular file")
    with os.fdopen(fd, "rb") as file:
        if found.st_size > most:
            raise InputRefusal(os.fspath(path), f"{found.st_size} bytes", f"{most} bytes")
        yield file, found.st_size


def files_below(folder: Path, most: int) -> list[str]:
    """Return the paths of the regular files below a folder, relative to it, without following links.

    Raises:
        InputRefusal: there are more than `most` files or folders.
    """
    found: list[str] = []
    seen = 0
    for place, folders, names in os.walk(folder):
        seen += len(names) + len(folders)
        if seen > most:
            raise InputRefusal(str(folder), "more files", f"{most}")
        for name in names:
            path = os.path.join(place, name)
            if os.path.isfile(path):
                found.append(os.path.relpath(path, folder))
    return sorted(found)
