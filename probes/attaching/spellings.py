"""List other names of a function: by architecture, by kernel version, with and without underscores."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from typing import Final

SYSTEM_CALLS: Final = ("__x64_sys_", "__arm64_sys_", "__riscv_sys_", "__s390x_sys_", "__do_sys_", "ksys_")
"""Prefixes of the names of system calls, by architecture."""
RENAMED: Final = {
    "do_fork": ("kernel_clone",),  # 5.10
    "_do_fork": ("kernel_clone",),
    "do_sys_open": ("do_sys_openat2",),  # 5.6
    "do_sys_openat": ("do_sys_openat2",),
    "generic_make_request": ("submit_bio_noacct",),  # 5.9
}
"""Names in documents for older or newer kernels, and the names that kernels have instead."""
_PREFIXES: Final = ("__", "_", "do_", "__do_", "ksys_")
_SUFFIXES: Final = ("_noprof", "_locked")
"""Suffixes of names; `kmalloc` has been `kmalloc_noprof` since 6.10."""
_LEAST_SIMILARITY: Final = 0.6
_MAX_DIFFERENCE: Final = 0.15
"""Largest difference in distance from the most similar name."""
_WORD: Final = re.compile(r"[^\W_]+")


def spellings(name: str) -> Iterator[str]:
    """Yield names that a function may have in other kernels, the likeliest first; they may not exist."""
    low = name.lower()
    if low.startswith(("sys_", "ksys_")):
        yield from (f"{entry}{low.partition('sys_')[2]}" for entry in SYSTEM_CALLS)
    yield from RENAMED.get(name, ())
    bare = name.lstrip("_")
    yield bare
    yield from (f"{prefix}{bare}" for prefix in _PREFIXES)
    yield from (f"{name}{suffix}" for suffix in _SUFFIXES)
    yield from (f"{entry}{low}" for entry in SYSTEM_CALLS)


def is_like(name: str, other: str) -> bool:
    """Return whether a name may mean another function, whose name contains it or is similar."""
    first, second = name.lower(), other.lower()
    if first in second or set(_WORD.findall(first)) <= set(_WORD.findall(second)):
        return True
    return difflib.SequenceMatcher(None, first, second).ratio() >= _LEAST_SIMILARITY


def distance(name: str, other: str) -> float:
    """Return the distance of two names, 0 to 1, or 0.1 less for a name that continues the other."""
    first, second = name.lower(), other.lower()
    ratio = difflib.SequenceMatcher(None, first, second).ratio()
    return 1 - ratio - 0.1 * second.startswith(first)


def closest(name: str, names: Iterable[str]) -> list[str]:
    """Return up to three of `names` that an unknown name may mean, the nearest first."""
    similar = difflib.get_close_matches(name, list(names), 9, _LEAST_SIMILARITY)
    similar.sort(key=lambda candidate: distance(name, candidate))
    return [
        candidate
        for candidate in similar
        if distance(name, candidate) <= distance(name, similar[0]) + _MAX_DIFFERENCE
    ][:3]
