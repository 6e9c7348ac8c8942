"""Create all files that a user requests: recordings, exports, presets.

They contain addresses of a kernel and the activity of its tasks, so nobody else may read them (mode 0600); and in a
folder that others may write to, no existing link is followed and no existing file is written to.
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
    """Create a file of mode 0600 and open it. Raises FileExistsError if the name is taken, even by a link."""
    return os.fdopen(os.open(path, _NEW, 0o600), "wb")


def create_or_device(path: Path) -> BinaryIO:
    """Create a file, or open an existing character device, which has no content to be lost. Raises as `create`
    does.
    """
    if not (path.exists() and stat.S_ISCHR(path.lstat().st_mode)):
        return create(path)
    fd = os.open(path, _DEVICE)
    if stat.S_ISCHR(os.fstat(fd).st_mode):
        return os.fdopen(fd, "wb")
    os.close(fd)
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def write_atomically(path: Path, content: bytes, *, replace: bool = False) -> None:
    """Write a file that appears under its name only once complete.

    Raises FileExistsError if the name is taken and not to be replaced; OSError. No file is left then.
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
    """Give a complete file its name. Raises FileExistsError if that is taken and not to be replaced; OSError."""
    if replace:
        part.replace(path)
        return
    try:
        os.link(part, path, follow_symlinks=False)  # unlike rename(2), link(2) overwrites nothing
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        part.rename(path)
        return
    part.unlink()
