"""File operations of a `Target` on the local kernel."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from kernel.agent import bpf_calls
from kernel.agent.ring_reader import write_lines
from kernel.errors import FileRefused
from kernel.target import Effect, Step

CHUNK = 1 << 16
"""Bytes requested by one read(2): seq_file returns less, sysfs BTF as much as requested."""

_FLAGS = {Effect.WRITE: os.O_WRONLY | os.O_TRUNC, Effect.APPEND: os.O_WRONLY | os.O_APPEND}


def _file_refused(path: str, error: OSError | ValueError) -> FileRefused:
    """Return the error of a path; one with a NUL or half of a surrogate pair is no path."""
    return FileRefused(path, (error.errno or 0) if isinstance(error, OSError) else errno.ENOENT)


def _open(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def read(path: str, limit: int = 64 << 20, offset: int = 0, opened: Callable[[str], int] = _open) -> bytes:
    """Return the content of a file from `offset` on, up to `limit` bytes. Raises FileRefused."""
    parts: list[bytes] = []
    remaining = limit
    try:
        fd = opened(path)
        try:
            if offset:
                os.lseek(fd, offset, os.SEEK_SET)
            while remaining > 0 and (part := os.read(fd, min(remaining, CHUNK))):
                parts.append(part)
                remaining -= len(part)
        finally:
            os.close(fd)
    except (OSError, ValueError) as error:
        raise _file_refused(path, error) from None
    return b"".join(parts)


def perform(step: Step) -> None:
    """Carry out one effect; a write is one system call if the kernel takes it whole. Raises FileRefused."""
    try:
        if step.effect is Effect.MKDIR:
            os.mkdir(step.path)
        elif step.effect is Effect.RMDIR:
            os.rmdir(step.path)
        elif step.effect is Effect.UNLINK:
            os.unlink(step.path)
        else:
            fd = os.open(step.path, _FLAGS[step.effect] | os.O_CLOEXEC)
            try:
                write_lines(fd, step.data)
            finally:
                os.close(fd)
    except (OSError, ValueError) as error:
        raise _file_refused(step.path, error) from None


def folders_below(path: str) -> list[tuple[int, str]]:
    """Return inode and path, from `path` on, of the folders below one, some ten thousand. Raises FileRefused."""
    try:
        return [(inode, os.fsdecode(below)) for inode, below in bpf_calls.folders_below(os.fsencode(path))]
    except (OSError, ValueError) as error:
        raise _file_refused(path, error) from None


def list_folder(path: str) -> list[str]:
    """Return the names in a folder, sorted. Raises FileRefused."""
    try:
        return sorted(os.listdir(path))
    except (OSError, ValueError) as error:
        raise _file_refused(path, error) from None
