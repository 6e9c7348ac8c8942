"""Look up the variables at an instruction of a running kernel, as fetchargs, and those of a source line."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from btf.debug.dwarf import DwarfError
from events.names.kallsyms import Symbols
from foreign.refusal import InputRefusal
from kernel.attach.debug_info import DebugInfo
from kernel.connection.kernel_info import KernelInfo
from kernel.symbols.symbol_addresses import base_of
from probes.readable.variables import PlaceVariable, place_variables

_NO_DEBUG_INFORMATION: Final = "debug information of the very same build tells it, which is not on this machine"
_MOST_FILES: Final = 8
"""Files that a refusal lists."""
_IN_KERNEL: Final = 1 << 63
"""Lowest address of the kernel; smaller ones are distances in the memory of each CPU."""


def local_variables(debug: DebugInfo | None, symbols: Symbols, place: str, address: int) -> tuple[PlaceVariable, ...]:
    """Return the variables at an address of the running kernel, those of the function first; empty: it has none.

    Raises InputRefusal: there is no debug information of it, or it can't be read.
    """
    distance = debug.distance(symbols) if debug is not None else None
    if debug is None or debug.file is None or distance is None:
        raise InputRefusal(place, _NO_DEBUG_INFORMATION)
    found = symbols.find(address)
    if found is not None and found.module:
        raise InputRefusal(place, "debug information of modules is not read")
    try:
        variables = debug.file.variables(address + distance)
    except DwarfError as error:
        raise InputRefusal(place, f"the debug information can't be read: {error}") from None
    return place_variables(variables, partial(_symbol_text, symbols, distance))


def _symbol_text(symbols: Symbols, distance: int, linked: int) -> str | None:
    """Return an address as `@` takes it: by the only symbol of a name, or as a number; None: each CPU has its own."""
    if linked < _IN_KERNEL:
        return None
    address = linked - distance
    found = symbols.find(address)
    if found is None or found.module or len(symbols.named(found.name)) != 1:
        return f"{address:#x}"
    return f"{found.name}+{found.offset:#x}" if found.offset else found.name


class SourcePlaces(NamedTuple):
    """Instructions at which a line of source begins."""

    source: str
    """File, with its path in the build, and line: `fs/read_write.c:562`."""
    places: tuple[str, ...]
    """Instructions as a kprobe names them, one for each inlined copy."""


_KNOWN: Final[WeakKeyDictionary[KernelInfo, dict[tuple[int, str, int], SourcePlaces]]] = WeakKeyDictionary()
"""Lines of source that were found, by boot, name and line: a text is read anew with each key."""


def find_source_places(info: KernelInfo, name: str, line: int, vmlinux: Path | None = None) -> SourcePlaces:
    """Return the instructions at which a line begins, of a target whose debug information is on this machine.

    Raises InputRefusal: they can't be found, with the reason; TargetLost.
    """
    info.symbols.load()
    known, key = _KNOWN.setdefault(info, {}), (info.symbols.boot, name, line)
    if key not in known:
        if (symbols := info.symbols.current) is None:
            raise InputRefusal(f"{name}:{line}", "the addresses of this kernel are hidden, or not known here")
        known[key] = source_places(DebugInfo(info.target, info.facts.release, vmlinux), symbols, name, line)
    return known[key]


def source_places(debug: DebugInfo, symbols: Symbols, name: str, line: int) -> SourcePlaces:
    """Return the instructions at which a line begins; `name`: the file, or the end of its path.

    Raises InputRefusal: it is not known, or several files are meant, or no code is of the line.
    """
    what, distance = f"{name}:{line}", debug.distance(symbols)
    if debug.file is None or distance is None:
        raise InputRefusal(what, _NO_DEBUG_INFORMATION)
    try:
        found = debug.file.code_of_line(name, line)
    except DwarfError as error:
        raise InputRefusal(what, f"the debug information can't be read: {error}") from None
    if len(found.files) != 1:
        listed = ", ".join(found.files[:_MOST_FILES]) + (", …" if len(found.files) > _MOST_FILES else "")
        raise InputRefusal(what, f"several files are named so: {listed}" if listed else "no code is of such a file")
    [file] = found.files
    places = [_place(symbols, address - distance) for address in found.addresses]
    if not any(places):
        near = " and ".join(map(str, found.nearest))
        raise InputRefusal(f"{file}:{line}", f"no code is of this line; the nearest that have some: {near or 'none'}")
    return SourcePlaces(f"{file}:{line}", tuple(filter(None, places)))


def _place(symbols: Symbols, address: int) -> str:
    """Return an instruction as a kprobe names it; empty: it is of no function, such as code that was thrown away."""
    found = symbols.find(address)
    if found is None:
        return ""
    entries = symbols.named(found.name)
    if len(entries) == 1:
        return f"{found.name}+{found.offset:#x}" if found.offset else found.name
    entry = next(one for one in entries if one.address == address - found.offset)
    base = base_of(entry, symbols)
    return f"{base.symbol}+{base.distance + found.offset:#x}" if base is not None else f"{address:#x}"
