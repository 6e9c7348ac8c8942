"""Represent a program or a library for probes: its symbols, its static probes, and their offsets in the file.

`probes.programs.elf_symbols` reads one from its bytes. The kernel takes offsets from the file's beginning
(uprobetracer.rst), symbols have addresses in memory; the program headers map the two, for PIE and other programs.
"""

from __future__ import annotations

import difflib
import enum
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from btf.search import Search, SearchResult
from probes.programs.static_arguments import StaticArgument, read_arguments

STATIC: Final = "sdt_"
"""Beginning of the name of a static probe, `sdt_PROVIDER:NAME`."""
_NAMED: Final = re.compile(r"[A-Za-z_.$][^:%+()/\s]*")
"""Names of functions that a specification can have."""
_STATIC_NAME: Final = re.compile(r"[A-Za-z0-9_]+:[A-Za-z0-9_]+")
_NEAREST = 3
_ALIGNED = {"aarch64": 4, "riscv64": 2}
"""Alignment in bytes of every instruction, by machine."""


class SymbolKind(enum.Enum):
    """Kind of object that a symbol names."""

    FUNCTION = "function"
    INDIRECT = "indirect"
    """STT_GNU_IFUNC: a function that selects another one when the program is loaded."""
    DATA = "data"
    IMPORTED = "imported"
    """Defined in a library."""


class ProgramSymbol(NamedTuple):
    """Entry of a symbol table."""

    address: int
    size: int
    """Size in bytes; 0: unknown."""
    kind: SymbolKind
    old: bool = False
    """True for a version that programs linked today don't get (`memcpy@GLIBC_2.2.5`)."""


class StaticProbe(NamedTuple):
    """Place of a `.note.stapsdt` probe."""

    address: int
    counter: int = 0
    """Address of the probe's reference counter (semaphore); 0: none."""
    arguments: str = ""
    """Arguments as the note has them: `8@%rbx -4@112(%rsp)`."""


class ProgramSegment(NamedTuple):
    """Part of the file that is loaded."""

    address: int
    offset: int
    size: int
    """Size in bytes in the file."""
    executable: bool


class FileSpot(NamedTuple):
    """Place as the kernel takes it, in bytes from the file's beginning."""

    offset: int
    counter: int = 0
    """Offset of the reference counter; 0: none."""
    arguments: str = ""
    """Arguments of a static probe there, as its note has them."""


class SymbolNotPlaced(Exception):
    """Symbol that no probe can attach to.

    Attributes:
        code: probewright's own name for `Refusal.code`.
        names: names that are valid instead.
    """

    def __init__(self, code: str, reason: str, names: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.code = code
        self.names = tuple(names)


@dataclass(frozen=True)
class Program:
    """ELF file of a program or a library."""

    machine: str
    """Machine as in `uname -m`; empty: another machine."""
    segments: tuple[ProgramSegment, ...]
    symbols: Mapping[str, tuple[ProgramSymbol, ...]] = field(repr=False)
    static: Mapping[str, tuple[StaticProbe, ...]] = field(default_factory=dict, repr=False)
    """Static probes by `PROVIDER:NAME`."""
    stripped: bool = False
    """True if the file has only symbols for the dynamic linker, or none."""
    needed: tuple[str, ...] = ()
    """Names of the libraries that the file is linked with."""

    def place(self, name: str, offset: int = 0) -> tuple[FileSpot, ...]:
        """Return where a function begins in the file, or each place of a static probe (`sdt_PROVIDER:NAME`).

        Raises SymbolNotPlaced with the reason.
        """
        if name.startswith(STATIC) and ":" in name:
            return self._static(name.removeprefix(STATIC))
        candidates = self.symbols.get(name, ())
        current = [symbol for symbol in candidates if not symbol.old] or candidates
        functions = [symbol for symbol in current if symbol.kind is SymbolKind.FUNCTION]
        addresses = sorted({symbol.address for symbol in functions})
        if not addresses:
            raise self._absent(name, {symbol.kind for symbol in current})
        if len(addresses) > 1:
            places = ", ".join(f"{self._in_file(address):#x}" for address in addresses[:4])
            raise SymbolNotPlaced(
                "ambiguous_symbol", f"{len(addresses)} functions have this name; give an offset: {places}"
            )
        size = max(symbol.size for symbol in functions)
        if size and offset >= size:
            raise SymbolNotPlaced("outside_function", f"the function is {size} bytes long")
        if offset % _ALIGNED.get(self.machine, 1):
            raise SymbolNotPlaced("outside_function", f"instructions begin at multiples of {_ALIGNED[self.machine]}")
        return (FileSpot(self._in_file(addresses[0] + offset)),)

    def arguments(self, name: str) -> tuple[StaticArgument, ...]:
        """Return the arguments of a static probe (`sdt_PROVIDER:NAME`) at its first place. Raises SymbolNotPlaced."""
        return read_arguments(self._static(name.removeprefix(STATIC))[0].arguments, self.machine)

    @cached_property
    def places(self) -> tuple[str, ...]:
        """Names of all functions, then static probes (`sdt_PROVIDER:NAME`), that a probe can be on."""
        functions = (name for name in sorted(self.symbols) if _NAMED.fullmatch(name) and self._can_place(name))
        static = (f"{STATIC}{name}" for name in sorted(self.static) if _STATIC_NAME.fullmatch(name))
        return (*functions, *filter(self._can_place, static))

    def places_like(self, query: str, limit: int | None) -> SearchResult:
        """Return the indices into `places` of those that match a query, the likeliest first."""
        return self._place_search.find(query, limit)

    @cached_property
    def _place_search(self) -> Search:
        return Search([_searched(name) for name in self.places])

    def _can_place(self, name: str) -> bool:
        try:
            return bool(self.place(name))
        except SymbolNotPlaced:
            return False

    def nearest(self, name: str) -> tuple[str, ...]:
        """Return the names of similar functions."""
        return self.like(name, _NEAREST)

    def like(self, query: str, limit: int) -> tuple[str, ...]:
        """Return the names of functions that match a query, the likeliest first; also names that occur twice."""
        names, search = self._search
        return tuple(names[index] for index in search.find(query, limit).indices)

    def _static(self, name: str) -> tuple[FileSpot, ...]:
        places = self.static.get(name, ())
        if not places:
            nearest = difflib.get_close_matches(name, self.static, _NEAREST)
            raise SymbolNotPlaced(
                "no_such_symbol", "it has no such static probe", [f"sdt_{place}" for place in nearest]
            )
        spots = {
            FileSpot(self._in_file(place.address), self._in_file(place.counter, code=False), place.arguments)
            for place in places
        }
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
            libraries = f", one of {', '.join(self.needed[:4])}" if self.needed else ""
            return SymbolNotPlaced(
                "imported_symbol", f"it is only called from here; probe the library that has it{libraries}"
            )
        if SymbolKind.DATA in kinds:
            return SymbolNotPlaced("no_function", "it is data, no function")
        reason = "no function of this name"
        if self.stripped:
            reason = (
                "the file is stripped: only what the dynamic linker needs has a name"
                if self.symbols
                else ("the file is stripped: nothing in it has a name; give an offset")
            )
        return SymbolNotPlaced("no_such_symbol", reason, self.nearest(name))

    @cached_property
    def _search(self) -> tuple[list[str], Search]:
        names = [
            name
            for name, symbols in self.symbols.items()
            if any(symbol.kind is SymbolKind.FUNCTION for symbol in symbols)
        ]
        return names, Search(names)


def _searched(name: str) -> str:
    """Return the text to search for a place: of a static probe its own name goes before its provider."""
    if ":" not in name:
        return name
    provider, _, own = name.removeprefix(STATIC).partition(":")
    return f"{own}:{provider}"
