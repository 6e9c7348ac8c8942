"""Determine who may change a local file or folder, from its owner, its mode and its parent folders."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path


def trusted_users() -> frozenset[int]:
    """Return the uids whose files count as our own: ours and root's; under sudo also the calling uid."""
    caller = os.environ.get("SUDO_UID", "") if os.geteuid() == 0 else ""
    return frozenset({0, os.geteuid(), *((int(caller),) if caller.isascii() and caller.isdigit() else ())})


def distrust_reason(path: Path, users: Collection[int] | None = None, *, shared: bool = False) -> str:
    """Return why someone else may change the file at a path, in a line; empty: nobody may.

    The file or folder itself, and each folder and link on the way to it, must belong to one of the users, and nobody
    else may write to them. A folder above it may be world-writable if each user can only remove his own files
    (sticky, as /tmp).

    Args:
        path: existing file or folder.
        users: uids that are trusted; None: `trusted_users`.
        shared: True: the path itself may be sticky, too.
    """
    users = trusted_users() if users is None else users
    try:
        for part in _path_and_parents(path):
            above = shared or part not in (path.absolute(), path.resolve())
            if reason := _change_reason(part, part.lstat(), users, above=above):
                return reason
    except (OSError, RuntimeError) as error:  # links in a circle
        return f"{path}: {getattr(error, 'strerror', None) or error}"
    return ""


def is_private(path: Path | str) -> bool:
    """Return whether a path is our own folder, no link, that nobody else may even read (mode 0700)."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) == 0o700


def _path_and_parents(path: Path) -> Iterator[Path]:
    """Yield the path and its parents, as written and as resolved."""
    for end in dict.fromkeys((path.absolute(), path.resolve(strict=True))):
        yield from (end, *end.parents)


def _change_reason(path: Path, status: os.stat_result, users: Collection[int], *, above: bool) -> str:
    """Return why someone else may change this file; empty: nobody may."""
    if status.st_uid not in users:
        return f"{path} belongs to another user (uid {status.st_uid})"
    if stat.S_ISLNK(status.st_mode) or not status.st_mode & 0o022 or (above and status.st_mode & stat.S_ISVTX):
        return ""
    return f"others may write to {path} (mode {stat.S_IMODE(status.st_mode):04o}): chmod go-w"
