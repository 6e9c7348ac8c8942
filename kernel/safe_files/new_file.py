"""Makes the files that a person asked for: recordings, exports, presets. All of them are begun here.

They hold addresses of a kernel and what its tasks did, so nobody else may read them (mode 0600); and where others may
write to the folder, neither a link that waits there is followed nor a file that is there written into.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path
from typing import BinaryIO

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DEVICE = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY


def create(path: Path) -> BinaryIO:
    """Make a file of mode 0600 and open it. Raises FileExistsError where anything has its name, a link too."""
    return os.fdopen(os.open(path, _NEW, 0o600), "wb")


def create_or_device(path: Path) -> BinaryIO:
    """As `create`; a character device is opened as it is, for in it there is nothing to be lost."""
    if not (path.exists() and stat.S_ISCHR(path.lstat().st_mode)):
        return create(path)
    fd = os.open(path, _DEVICE)
    if stat.S_ISCHR(os.fstat(fd).st_mode):
        return os.fdopen(fd, "wb")
    os.close(fd)
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def write_whole(path: Path, content: bytes, *, replace: bool = False) -> None:
    """Write a file that is there under its name only when it is whole.

    Raises FileExistsError where something has its name and is not to be replaced; OSError. Nothing is left then.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    try:
        with create(part) as file:
            file.write(content)
        publish(part, path, replace=replace)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise OSError(error.errno, error.strerror, str(path)) from None


def publish(part: Path, path: Path, *, replace: bool = False) -> None:
    """Give a whole file its name. Raises FileExistsError where that is taken and not to be replaced; OSError."""
    if replace:
        part.replace(path)
        return
    try:
        os.link(part, path, follow_symlinks=False)  # which, other than rename(2), overwrites nothing
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        part.rename(path)
        return
    part.unlink()
