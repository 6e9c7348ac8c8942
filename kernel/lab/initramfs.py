"""Write initramfs archives: the `newc` format of Documentation/driver-api/early-userspace/buffer-format.rst.

Needs neither a cpio program nor root: every entry simply is written as root's. The kernel unpacks concatenated
archives, each compressed or not, into one tree; a later entry replaces an earlier one.
"""

from __future__ import annotations

import gzip
import io
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

_MAGIC = b"070701"


class ArchiveEntry(NamedTuple):
    """Entry of an archive."""

    path: str
    """Path without a leading slash."""
    mode: int
    """Type and permissions as in st_mode."""
    data: bytes = b""
    """Content of a file, target of a symbolic link."""
    rdev: tuple[int, int] = (0, 0)
    """Major and minor of a device."""


def directory(path: str, mode: int = 0o755) -> ArchiveEntry:
    """Return the entry of a folder."""
    return ArchiveEntry(path, stat.S_IFDIR | mode)


def file(path: str, data: bytes, mode: int = 0o644) -> ArchiveEntry:
    """Return the entry of a regular file."""
    return ArchiveEntry(path, stat.S_IFREG | mode, data)


def symlink(path: str, target: str) -> ArchiveEntry:
    """Return the entry of a symbolic link."""
    return ArchiveEntry(path, stat.S_IFLNK | 0o777, target.encode())


def archive(entries: Iterable[ArchiveEntry]) -> bytes:
    """Return a complete archive: parents first and added if missing; of two entries of one name the last is used."""
    tree: dict[str, ArchiveEntry] = {}
    for entry in entries:
        path = entry.path.strip("/")
        parts = path.split("/")
        for depth in range(1, len(parts)):
            parent = "/".join(parts[:depth])
            tree.setdefault(parent, directory(parent))
        tree[path] = entry._replace(path=path)
    out = io.BytesIO()
    # A folder's name is a prefix of its children's, so sorting puts it before them.
    for number, path in enumerate(sorted(tree), 1):
        _write(out, tree[path], number)
    _write(out, ArchiveEntry("TRAILER!!!", 0), 0)
    return out.getvalue()


def _write(out: io.BytesIO, entry: ArchiveEntry, inode: int) -> None:
    name = entry.path.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    # Fields: ino mode uid gid nlink mtime filesize maj min rmaj rmin namesize check
    numbers = (inode, entry.mode, 0, 0, links, 0, len(entry.data), 0, 0, *entry.rdev, len(name), 0)
    out.write(_MAGIC + b"".join(b"%08X" % number for number in numbers) + name)
    out.write(b"\0" * (-out.tell() % 4))
    out.write(entry.data)
    out.write(b"\0" * (-out.tell() % 4))


def packed(entries: Iterable[ArchiveEntry]) -> bytes:
    """Return a compressed archive; equal entries give equal bytes."""
    return gzip.compress(archive(entries), compresslevel=6, mtime=0)


def join(parts: Iterable[Path | bytes], into: Path) -> None:
    """Concatenate archives in a file, each at a multiple of four as the kernel requires for uncompressed ones."""
    with into.open("wb") as out:
        for part in parts:
            out.write(part if isinstance(part, bytes) else part.read_bytes())
            out.write(b"\0" * (-out.tell() % 4))
