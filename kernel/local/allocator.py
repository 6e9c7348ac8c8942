"""Settings of the C library's allocator for a process that runs for long, in which large blocks come and go."""

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
    """Have large blocks go back to the kernel when they are freed; where the C library has no mallopt(3), nothing.

    By itself glibc raises its bounds to the largest block that was ever freed: pages of the ring buffer and columns
    of numpy then share a heap with small objects, which hold it together long after they are gone.
    """
    with contextlib.suppress(AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _LARGE)
        mallopt(_M_TRIM_THRESHOLD, _TRIM)
        mallopt(_M_ARENA_MAX, 1)  # else each thread keeps free memory of its own
