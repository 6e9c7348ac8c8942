"""Find the path of a cgroup by its id, as BPF programs group by it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from kernel.errors import FileRefused
from kernel.target import Target

_ROOT_ID: Final = 1
"""Id of the root of the hierarchy of version 2, mounted or not (kernfs_create_root, fs/kernfs/dir.c)."""
_MOUNTS: Final = "/proc/mounts"
_LARGEST: Final = 1 << 20


def cgroup_names(target: Target, ids: Collection[int]) -> Mapping[int, str]:
    """Return the paths of cgroups of version 2 by id, which is the inode of its folder; those that have gone, or of
    which nothing is mounted, are left out. Raises TargetLost.
    """
    found = {_ROOT_ID: "/"} if _ROOT_ID in ids else {}
    if len(found) == len(ids):
        return found
    try:
        mounts = target.read(_MOUNTS, _LARGEST).decode("utf-8", "surrogateescape")
        lines = (line.split(" ") for line in mounts.splitlines())
        place = next((words[1] for words in lines if len(words) > 2 and words[2] == "cgroup2"), "")
        folders = target.folder_inodes(place) if place else ()
    except FileRefused:
        return found
    return found | {inode: path for inode, path in folders if inode in ids}
