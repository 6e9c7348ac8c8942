"""Count the bytes that this process holds, as its allocators know them.

With tracemalloc, which notes each allocation, a test takes seven times as long.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
from typing import NamedTuple


class _Mallinfo2(ctypes.Structure):
    """Figures of malloc (mallinfo(3))."""

    _fields_ = [
        *((name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd")),
        *((name, ctypes.c_size_t) for name in ("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")),
    ]


class Held(NamedTuple):
    """Bytes at one moment."""

    small: int
    """Of objects up to 512 bytes, which lie in arenas of Python."""
    large: int
    """Of what malloc gave out: larger objects, arrays, and the buffers of libraries."""

    def growth_to(self, later: Held) -> tuple[int, int]:
        """Return how many more small ones there are, and how many more in all."""
        return later.small - self.small, sum(later) - sum(self)


def held_memory() -> Held:
    """Return the bytes that are held now."""
    return Held(_small_objects(), _allocated_by_c())


def _small_objects() -> int:
    """Return the bytes that `sys._debugmallocstats` counts, which can only write them to descriptor 2."""
    sys.stderr.flush()
    before = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            sys._debugmallocstats()
        finally:
            os.dup2(before, 2)
            os.close(before)
        file.seek(0)
        found = re.search(rb"# bytes in allocated blocks\s+=\s+([\d,]+)", file.read())
    assert found, "objects are not in arenas of Python: PYTHONMALLOC is set"
    return int(found[1].replace(b",", b""))


def _allocated_by_c() -> int:
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = _Mallinfo2
    figures = mallinfo2()
    return int(figures.uordblks + figures.hblkhd)
