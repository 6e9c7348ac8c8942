"""The machine code of a running kernel and of its modules, read through /proc/kcore: some 20 MB, so for a worker."""

from __future__ import annotations

import bisect
import errno
from collections.abc import Callable, Collection

from events.names.kallsyms import Symbols
from kernel.attach.kcore import PATH, Kcore
from kernel.errors import FileRefused
from kernel.target import Target
from probes.attaching import branches

Progress = Callable[[float], bool]
"""Takes the share that is done; False: go on no further."""

_CHUNK = 1 << 20
_MOST = 96 << 20
"""Bytes of code that are read; a kernel has 20 MB, its modules as much again."""
_LAST = 4096
"""What is read behind the beginning of a module's last function."""


class SearchStopped(Exception):
    """`Progress` said so."""


class KernelCode:
    """All code of a kernel and its modules, as it was when it was read."""

    def __init__(self, target: Target, symbols: Symbols, progress: Progress) -> None:
        """Read it. Raises FileRefused, TargetLost, Stopped."""
        kcore = Kcore(target)
        stretches = _stretches(symbols)
        left = whole = sum(size for _, size in stretches)
        self._starts, self._parts = list[int](), list[bytes]()
        for start, size in stretches:
            part = bytearray()
            while len(part) < size:
                if not progress(1 - left / whole):
                    raise SearchStopped
                data = kcore.read(start + len(part), min(_CHUNK, size - len(part)))
                if not data:
                    break
                part += data
                left -= len(data)
            self._starts.append(start)
            self._parts.append(bytes(part))
        if not any(self._parts):
            raise FileRefused(PATH, errno.EFAULT)

    def branches_to(self, targets: Collection[int], machine: str) -> list[branches.Branch]:
        """Branches to any of some addresses (half a second for 20 MB)."""
        pairs = zip(self._starts, self._parts, strict=True)
        return [found for start, part in pairs for found in branches.branches_to(targets, part, start, machine)]

    def bytes_at(self, address: int, size: int) -> bytes:
        """Some of the code; empty where there is none."""
        at = bisect.bisect_right(self._starts, address) - 1
        if at < 0:
            return b""
        offset = address - self._starts[at]
        return self._parts[at][offset : offset + size]


def _stretches(symbols: Symbols) -> list[tuple[int, int]]:
    """Addresses and sizes of the code, by address."""
    bounds = [symbols.named(name) for name in ("_stext", "_etext")]
    found = []
    if all(bounds):
        found.append((bounds[0][0].address, bounds[1][0].address - bounds[0][0].address))
    found += [(first, last - first + _LAST) for first, last in symbols.code_of_modules().values()]
    kept, left = [], _MOST
    for start, size in found:
        if 0 < size <= left:
            kept.append((start, size))
            left -= size
    return sorted(kept)
