"""Who may change a file or folder of this machine, read from its owner, its mode and the folders it lies in."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path


def trusted_users() -> frozenset[int]:
    """Return the uids whose files count as our own: ours and root's; under sudo also the uid that called it."""
    caller = os.environ.get("SUDO_UID", "") if os.geteuid() == 0 else ""
    return frozenset({0, os.geteuid(), *((int(caller),) if caller.isascii() and caller.isdigit() else ())})


def distrust(path: Path, users: Collection[int] | None = None, *, shared: bool = False) -> str:
    """Return why someone else may change what a path leads to, in a line; empty: nobody may.

    The file or folder itself, and each folder and link on the way to it, belong to one of the users, and nobody else
    may write to them. A folder above it may be one that all write to where each can only remove what is his own
    (sticky, as /tmp).

    Args:
        path: of a file or folder that is there.
        users: uids that are trusted; None: `trusted_users`.
        shared: the path itself may be sticky, too.
    """
    users = trusted_users() if users is None else users
    try:
        for one in _on_the_way(path):
            above = shared or one not in (path.absolute(), path.resolve())
            if why := _changeable(one, one.lstat(), users, above=above):
                return why
    except (OSError, RuntimeError) as error:  # links in a circle
        return f"{path}: {getattr(error, 'strerror', None) or error}"
    return ""


def is_private(path: Path | str) -> bool:
    """Return whether a path is a folder, no link, of our own that nobody else may even look into (mode 0700)."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == 0o700


def _on_the_way(path: Path) -> Iterator[Path]:
    """Give the path and all above it, as it is written and as its links lead."""
    for end in dict.fromkeys((path.absolute(), path.resolve(strict=True))):
        yield from (end, *end.parents)


def _changeable(path: Path, found: os.stat_result, users: Collection[int], *, above: bool) -> str:
    """Return why someone else may change this one; empty: nobody may."""
    if found.st_uid not in users:
        return f"{path} belongs to another user (uid {found.st_uid})"
    if stat.S_ISLNK(found.st_mode) or not found.st_mode & 0o022 or (above and found.st_mode & stat.S_ISVTX):
        return ""
    return f"others may write to {path} (mode {stat.S_IMODE(found.st_mode):04o}): chmod go-w"
