"""The callers of a function of a running kernel, by its own machine code; slow (20 MB are read), so for a worker."""

from __future__ import annotations

import bisect
import errno
from collections.abc import Callable, Collection, Sequence

from events.kallsyms import Symbols
from kernel.errors import FileRefused
from kernel.kcore import PATH, Kcore
from kernel.target import Target
from probes import branches
from probes.attach import COLD, PADDING
from probes.callers import Callers, Spot, direct_callers, owner
from probes.catalog import Catalog
from probes.probe import Place
from probes.reasons import How

Progress = Callable[[float], bool]
"""Takes the share that is done; False: go on no further."""

_CHUNK = 1 << 20
_MOST = 96 << 20
"""Bytes of code that are read; a kernel has 20 MB, its modules as much again."""
_LAST = 4096
"""What is read behind the beginning of a module's last function."""
_ENTRIES = (b"\xf3\x0f\x1e\xfa", b"\x0f\x1f\x40\xd6")
"""ENDBR64 on x86-64, and what the kernel puts there where it isn't needed: calls may skip it."""


class Stopped(Exception):
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
                    raise Stopped
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


class CallerSearch:
    """Finds callers on one target; the code is read once."""

    def __init__(self, target: Target, machine: str, symbols: Symbols | None, catalog: Catalog) -> None:
        self._target = target
        self._machine = machine
        self._symbols = symbols
        self._catalog = catalog
        self._code: KernelCode | None = None

    def find(self, name: str, progress: Progress = lambda _: True) -> Callers | None:
        """The callers of a function; None: stopped by `progress`. Raises TargetLost."""
        if not branches.knows(self._machine):
            return Callers(name, trouble=f"code of {self._machine} can't be read here")
        if self._symbols is None:
            return Callers(name, trouble="the kernel hides the addresses of its functions")
        entries = self._symbols.named(name) or self._symbols.beginning(f"{name}.")
        starts = [entry.address for entry in entries if entry.code and COLD not in entry.name]
        if not starts:
            return Callers(name, trouble="it has no code of its own that could be called")
        try:
            if self._code is None:
                self._code = KernelCode(self._target, self._symbols, progress)
        except FileRefused as error:
            return Callers(name, trouble=f"the kernel's code can't be read ({error})")
        except Stopped:
            return None
        return _Search(self._code, self._machine, self._symbols, self._catalog).callers(name, starts)


class _Search:
    """One search, with everything at hand."""

    def __init__(self, code: KernelCode, machine: str, symbols: Symbols, catalog: Catalog) -> None:
        self._code, self._machine, self._symbols, self._catalog = code, machine, symbols, catalog

    def callers(self, name: str, starts: Sequence[int]) -> Callers:
        entries = {entry for start in starts for entry in self._entries(start)}
        return direct_callers(name, entries, self._scan, self._spot, self._entries, "the kernel's code")

    def _scan(self, targets: Collection[int]) -> Sequence[branches.Branch]:
        return self._code.branches_to(targets, self._machine)

    def _entries(self, start: int) -> Collection[int]:
        """Calls go to the first instruction, behind the mark for indirect calls, or into the padding in front."""
        entries = {start}
        if self._code.bytes_at(start, 4) in _ENTRIES:
            entries.add(start + 4)
        names = {f"{PADDING}{entry.name}" for entry in self._symbols.at(start)}
        entries |= {
            pad.address for name in names for pad in self._symbols.named(name) if 0 < start - pad.address < 64
        }
        return entries

    def _spot(self, address: int) -> Spot | None:
        place = self._symbols.find(address)
        if place is None:
            return None
        name = owner(place.name)
        if name == place.name:
            return self._named(address - place.offset, name)._replace(offset=place.offset)
        owners = [entry.address for entry in self._symbols.named(name)]
        # Of several functions of one name nobody knows whose part it is.
        return self._named(owners[0], name) if len(owners) == 1 else None

    def _named(self, start: int, name: str) -> Spot:
        """By the name under which it can be probed; a twin by its address."""
        names = [entry.name for entry in self._symbols.at(start)] or [name]
        for one in names:
            about = self._catalog.attachability(one)
            if about.kinds:
                return Spot(one, start, Place(one), about.kinds)
            twin = next((i for i in about.instead if i.how is How.TWIN and i.place.address == start), None)
            if twin is not None:
                return Spot(one, start, twin.place, twin.kinds)
        return Spot(name, start, Place(name), frozenset())
