"""Read the machine code of a running kernel and its modules through /proc/kcore: some 20 MB, so for a worker."""

from __future__ import annotations

import bisect
import errno
from collections.abc import Callable, Collection

from events.names.kallsyms import Symbols
from kernel.attach.kcore import PATH, Kcore
from kernel.errors import FileRefused
from kernel.target import Target
from probes.attaching.branches import branches_to
from probes.code.decoded import Branch

Progress = Callable[[float], bool]
"""Callback that takes the completed share; returns False to stop."""

_CHUNK = 1 << 20
_MOST = 96 << 20
"""Most bytes of code that are read; a kernel has 20 MB, its modules about as much."""
_LAST = 4096
"""Bytes that are read from the beginning of a module's last function."""


class SearchStopped(Exception):
    """`Progress` returned False."""


class KernelCode:
    """All code of a kernel and its modules, as it was when read."""

    def __init__(self, target: Target, symbols: Symbols, progress: Progress) -> None:
        """Read the code. Raises FileRefused, TargetLost, SearchStopped."""
        kcore = Kcore(target)
        ranges = _code_ranges(symbols)
        remaining = total = sum(size for _, size in ranges)
        self._starts, self._parts = list[int](), list[bytes]()
        for start, size in ranges:
            part = bytearray()
            while len(part) < size:
                if not progress(1 - remaining / total):
                    raise SearchStopped
                data = kcore.read(start + len(part), min(_CHUNK, size - len(part)))
                if not data:
                    break
                part += data
                remaining -= len(data)
            self._starts.append(start)
            self._parts.append(bytes(part))
        if not any(self._parts):
            raise FileRefused(PATH, errno.EFAULT)

    def branches_to(self, targets: Collection[int], machine: str) -> list[Branch]:
        """Return the branches to any of some addresses (half a second for 20 MB)."""
        pairs = zip(self._starts, self._parts, strict=True)
        return [branch for start, part in pairs for branch in branches_to(targets, part, start, machine)]

    def bytes_at(self, address: int, size: int) -> bytes:
        """Return some bytes of the code; empty if there are none."""
        index = bisect.bisect_right(self._starts, address) - 1
        if index < 0:
            return b""
        offset = address - self._starts[index]
        return self._parts[index][offset : offset + size]


def _code_ranges(symbols: Symbols) -> list[tuple[int, int]]:
    """Return addresses and sizes of the code, by address."""
    bounds = [symbols.named(name) for name in ("_stext", "_etext")]
    ranges = []
    if all(bounds):
        ranges.append((bounds[0][0].address, bounds[1][0].address - bounds[0][0].address))
    ranges += [(first, last - first + _LAST) for first, last in symbols.code_of_modules().values()]
    selected, remaining = [], _MOST
    for start, size in ranges:
        if 0 < size <= remaining:
            selected.append((start, size))
            remaining -= size
    return sorted(selected)
