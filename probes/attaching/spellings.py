"""Other names that one function has: by the architecture, by the kernel's age, with and without underscores."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from typing import Final

_SYSTEM_CALLS: Final = ("__x64_sys_", "__arm64_sys_", "__riscv_sys_", "__s390x_sys_", "__do_sys_", "ksys_")
"""What the names of system calls begin with, by the architecture."""
RENAMED: Final = {
    "do_fork": ("kernel_clone",),  # 5.10
    "_do_fork": ("kernel_clone",),
    "do_sys_open": ("do_sys_openat2",),  # 5.6
    "do_sys_openat": ("do_sys_openat2",),
    "generic_make_request": ("submit_bio_noacct",),  # 5.9
}
"""Names of guides that are older, or younger, than a kernel, and what it has instead."""
_BEFORE: Final = ("__", "_", "do_", "__do_", "ksys_")
_BEHIND: Final = ("_noprof", "_locked")
"""`kmalloc` has been `kmalloc_noprof` since 6.10."""
_LEAST_ALIKE: Final = 0.6
_FARTHER: Final = 0.15
"""What is so much farther than the nearest is not meant."""
_WORD: Final = re.compile(r"[^\W_]+")


def spellings(name: str) -> Iterator[str]:
    """Give names that a function may have elsewhere, the likeliest first; whether one exists is not known."""
    low = name.lower()
    if low.startswith(("sys_", "ksys_")):
        yield from (f"{entry}{low.partition('sys_')[2]}" for entry in _SYSTEM_CALLS)
    yield from RENAMED.get(name, ())
    bare = name.lstrip("_")
    yield bare
    yield from (f"{before}{bare}" for before in _BEFORE)
    yield from (f"{name}{behind}" for behind in _BEHIND)
    yield from (f"{entry}{low}" for entry in _SYSTEM_CALLS)


def is_like(name: str, other: str) -> bool:
    """Return whether another function may be meant by a name: it has the whole name in its own, or is alike."""
    one, two = name.lower(), other.lower()
    if one in two or set(_WORD.findall(one)) <= set(_WORD.findall(two)):
        return True
    return difflib.SequenceMatcher(None, one, two).ratio() >= _LEAST_ALIKE


def distance(name: str, other: str) -> float:
    """Return how unlike two names are, from 0 to 1; a name that only goes on is nearer than others."""
    one, two = name.lower(), other.lower()
    ratio = difflib.SequenceMatcher(None, one, two).ratio()
    return 1 - ratio - 0.1 * two.startswith(one)


def closest(name: str, names: Iterable[str]) -> list[str]:
    """Return up to three of some names that may be meant by one that is not there, the nearest first."""
    found = difflib.get_close_matches(name, list(names), 9, _LEAST_ALIKE)
    found.sort(key=lambda one: distance(name, one))
    return [one for one in found if distance(name, one) <= distance(name, found[0]) + _FARTHER][:3]
