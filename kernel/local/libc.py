"""Call functions of the C library that `os` lacks: prototypes in one table, thin wrappers.

mount(2), umount2(2), statfs(2). Without policy: callers decide what is mounted where.
"""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Any, NamedTuple


class _Statfs(ctypes.Structure):
    """Layout of `struct statfs` of asm-generic/statfs.h on 64-bit machines (s390x has 32-bit words and is not
    covered).
    """

    _fields_ = [
        ("f_type", ctypes.c_long),
        ("f_bsize", ctypes.c_long),
        ("f_blocks", ctypes.c_ulong),
        ("f_bfree", ctypes.c_ulong),
        ("f_bavail", ctypes.c_ulong),
        ("f_files", ctypes.c_ulong),
        ("f_ffree", ctypes.c_ulong),
        ("f_fsid", ctypes.c_int * 2),
        ("f_namelen", ctypes.c_long),
        ("f_frsize", ctypes.c_long),
        ("f_flags", ctypes.c_long),
        ("f_spare", ctypes.c_long * 4),
    ]


class Statfs(NamedTuple):
    """Result of statfs(2) that `os.statvfs` lacks."""

    f_type: int
    """Magic number of the file system."""
    f_flags: int


_PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "mount": (
        ctypes.c_int,
        (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p),
    ),
    "umount2": (ctypes.c_int, (ctypes.c_char_p, ctypes.c_int)),
    "statfs": (ctypes.c_int, (ctypes.c_char_p, ctypes.POINTER(_Statfs))),
}

_c = ctypes.CDLL(None, use_errno=True)
for _name, (_restype, _argtypes) in _PROTOTYPES.items():
    _function = getattr(_c, _name)
    _function.restype, _function.argtypes = _restype, _argtypes


def mount(source: str, target: str, fstype: str, flags: int = 0, data: str = "") -> None:
    """Mount a file system, as mount(2). Raises OSError."""
    _check(_c.mount(os.fsencode(source), os.fsencode(target), fstype.encode(), flags, data.encode() or None), target)


def umount(target: str, flags: int = 0) -> None:
    """Unmount a file system, as umount2(2). Raises OSError."""
    _check(_c.umount2(os.fsencode(target), flags), target)


def statfs(path: str) -> Statfs:
    """Read type and flags of a file system, as statfs(2). Raises OSError."""
    buffer = _Statfs()
    _check(_c.statfs(os.fsencode(path), ctypes.byref(buffer)), path)
    return Statfs(buffer.f_type, buffer.f_flags)


def _check(result: int, path: str) -> None:
    if result < 0:
        number = ctypes.get_errno() or errno.EIO
        raise OSError(number, os.strerror(number), path)
