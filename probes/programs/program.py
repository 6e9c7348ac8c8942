"""A program or a library as far as probes need it: its symbols, its static probes, and where they lie in the file.

`probes.programs.elf_symbols` reads one from its bytes. The kernel counts from the file's beginning
(uprobetracer.rst), symbols from where the code will be in memory: the program headers say which is which, for PIE and
others alike.
"""

from __future__ import annotations

import difflib
import enum
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from btf.search import Search

_NEAREST = 3
_ALIGNED = {"aarch64": 4, "riscv64": 2}
"""Bytes that every instruction's address is a multiple of."""


class SymbolKind(enum.Enum):
    """What a symbol names."""

    FUNCTION = "function"
    INDIRECT = "indirect"
    """STT_GNU_IFUNC: a function that chooses another one when the program is loaded."""
    DATA = "data"
    IMPORTED = "imported"
    """It is defined in a library."""


class ProgramSymbol(NamedTuple):
    """One entry of a symbol table."""

    address: int
    size: int
    """Bytes; 0: not said."""
    kind: SymbolKind
    old: bool = False
    """A version of it that programs linked today don't get (`memcpy@GLIBC_2.2.5`)."""


class StaticProbe(NamedTuple):
    """One place of a `.note.stapsdt` probe."""

    address: int
    counter: int = 0
    """Address of its reference counter (semaphore); 0: it has none."""


class ProgramSegment(NamedTuple):
    """Part of the file that is loaded."""

    address: int
    offset: int
    size: int
    """Bytes in the file."""
    executable: bool


class FileSpot(NamedTuple):
    """A place as the kernel takes it, in bytes from the file's beginning."""

    offset: int
    counter: int = 0
    """Of the reference counter; 0: none."""


class SymbolNotPlaced(Exception):
    """A symbol that no probe can sit on.

    Attributes:
        code: a name of our own for `Refusal.code`.
        names: what would do instead.
    """

    def __init__(self, code: str, reason: str, names: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.code = code
        self.names = tuple(names)


@dataclass(frozen=True)
class Program:
    """One ELF file."""

    machine: str
    """As `uname -m` says it; empty: another one."""
    segments: tuple[ProgramSegment, ...]
    symbols: Mapping[str, tuple[ProgramSymbol, ...]] = field(repr=False)
    static: Mapping[str, tuple[StaticProbe, ...]] = field(default_factory=dict, repr=False)
    """By `PROVIDER:NAME`."""
    stripped: bool = False
    """It has no symbols but those for the dynamic linker, or none at all."""
    needed: tuple[str, ...] = ()
    """Libraries that it is linked with."""

    def place(self, name: str, offset: int = 0) -> tuple[FileSpot, ...]:
        """Say where a function begins in the file, or each place of a static probe (`sdt_PROVIDER:NAME`).

        Raises NotPlaced with the reason.
        """
        if name.startswith("sdt_") and ":" in name:
            return self._static(name.removeprefix("sdt_"))
        every = self.symbols.get(name, ())
        current = [one for one in every if not one.old] or every
        found = [one for one in current if one.kind is SymbolKind.FUNCTION]
        addresses = sorted({one.address for one in found})
        if not addresses:
            raise self._absent(name, {one.kind for one in current})
        if len(addresses) > 1:
            places = ", ".join(f"{self._in_file(address):#x}" for address in addresses[:4])
            raise SymbolNotPlaced(
                "ambiguous_symbol", f"{len(addresses)} functions have this name; give an offset: {places}"
            )
        size = max(one.size for one in found)
        if size and offset >= size:
            raise SymbolNotPlaced("outside_function", f"the function is {size} bytes long")
        if offset % _ALIGNED.get(self.machine, 1):
            raise SymbolNotPlaced("outside_function", f"instructions begin at multiples of {_ALIGNED[self.machine]}")
        return (FileSpot(self._in_file(addresses[0] + offset)),)

    def nearest(self, name: str) -> tuple[str, ...]:
        """Names of functions that are like this one."""
        return self.like(name, _NEAREST)

    def like(self, query: str, limit: int) -> tuple[str, ...]:
        """Names of functions that a query finds, the likeliest first; also such as are there twice."""
        names, search = self._search
        return tuple(names[index] for index in search.find(query, limit).indices)

    def _static(self, name: str) -> tuple[FileSpot, ...]:
        found = self.static.get(name, ())
        if not found:
            nearest = difflib.get_close_matches(name, self.static, _NEAREST)
            raise SymbolNotPlaced("no_such_symbol", "it has no such static probe", [f"sdt_{one}" for one in nearest])
        spots = {FileSpot(self._in_file(one.address), self._in_file(one.counter, code=False)) for one in found}
        return tuple(sorted(spots))

    def _in_file(self, address: int, code: bool = True) -> int:
        if not address:
            return 0
        for segment in self.segments:
            if 0 <= address - segment.address < segment.size and (segment.executable or not code):
                return address - segment.address + segment.offset
        raise SymbolNotPlaced("not_code", f"address {address:#x} is no code that is in the file")

    def _absent(self, name: str, kinds: Set[SymbolKind]) -> SymbolNotPlaced:
        if SymbolKind.INDIRECT in kinds:
            return SymbolNotPlaced(
                "indirect_symbol", "it only chooses the function when the program starts (IFUNC); probe that one"
            )
        if SymbolKind.IMPORTED in kinds:
            where = f", one of {', '.join(self.needed[:4])}" if self.needed else ""
            return SymbolNotPlaced(
                "imported_symbol", f"it is only called from here; probe the library that has it{where}"
            )
        if SymbolKind.DATA in kinds:
            return SymbolNotPlaced("no_function", "it is data, no function")
        why = "no function of this name"
        if self.stripped:
            why = (
                "the file is stripped: only what the dynamic linker needs has a name"
                if self.symbols
                else ("the file is stripped: nothing in it has a name; give an offset")
            )
        return SymbolNotPlaced("no_such_symbol", why, self.nearest(name))

    @cached_property
    def _search(self) -> tuple[list[str], Search]:
        names = [
            name for name, found in self.symbols.items() if any(one.kind is SymbolKind.FUNCTION for one in found)
        ]
        return names, Search(names)
