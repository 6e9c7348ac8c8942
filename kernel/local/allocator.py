"""Configure the C library's allocator for a long-running process that allocates and frees large blocks."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_LARGE: Final = 32 << 10
"""Bytes from which on a block is a mapping of its own."""
_TRIM: Final = 128 << 10
"""Bytes at the top of the heap that may stay unused."""


def give_back_memory() -> None:
    """Return large blocks to the kernel when they are freed; no effect if the C library has no mallopt(3).

    By default glibc raises its thresholds to the largest block ever freed: pages of the ring buffer and columns of
    numpy then share a heap with small objects, which keep it allocated long after the blocks are freed.
    """
    with contextlib.suppress(AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _LARGE)
        mallopt(_M_TRIM_THRESHOLD, _TRIM)
        mallopt(_M_ARENA_MAX, 1)  # else each thread keeps free memory of its own
