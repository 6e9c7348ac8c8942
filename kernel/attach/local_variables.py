"""Look up the parameters and local variables at an instruction of a running kernel, as fetchargs."""

from __future__ import annotations

from functools import partial
from typing import Final

from btf.debug.dwarf import DwarfError
from events.names.kallsyms import Symbols
from foreign.refusal import InputRefusal
from kernel.attach.debug_info import DebugInfo
from probes.readable.variables import PlaceVariable, place_variables

NO_DEBUG_INFORMATION: Final = (
    "variables are known by debug information of the very same build, which is not on this machine"
)
_IN_KERNEL: Final = 1 << 63
"""Lowest address of the kernel; smaller ones are distances in the memory of each CPU."""


def local_variables(debug: DebugInfo | None, symbols: Symbols, place: str, address: int) -> tuple[PlaceVariable, ...]:
    """Return the variables at an address of the running kernel, those of the function first; empty: it has none.

    Raises InputRefusal: there is no debug information of it, or it can't be read.
    """
    distance = debug.distance(symbols) if debug is not None else None
    if debug is None or debug.file is None or distance is None:
        raise InputRefusal(place, NO_DEBUG_INFORMATION)
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
