"""Look up functions and addresses in the symbol table, to identify one of several functions with one name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

from events.names.kallsyms import Symbols
from events.names.kallsyms_table import KallsymsEntry
from probes.command import Armable, is_function
from probes.facts.lookups import Environment, SymbolCount, SymbolLanding, SymbolPlace
from probes.probe import TEXT, Probe, ProbePlace, SymbolBase
from probes.syntax.text import is_identifier, kstrtoul


def count_symbols(symbols: Symbols, name: str) -> SymbolCount:
    """Return how many symbols of a name there are."""
    entries = symbols.named(name)
    modules = sum(1 for entry in entries if entry.module)
    same_address = symbols.at(entries[0].address) if len(entries) == 1 else []
    twins = tuple(entry.name for entry in same_address if entry.name != name)
    return SymbolCount(len(entries) - modules, modules, twins, symbols.aliases(entries[0]) if twins else ())


def symbol_at_offset(symbols: Symbols, name: str, offset: int) -> SymbolLanding | None:
    """Return the symbol `offset` bytes behind the only symbol of a name; None: there is none."""
    start = next(iter(symbols.named(name)), None)
    first = symbols.find(start.address) if start is not None else None
    symbol = symbols.find(start.address + offset) if start is not None else None
    if start is None or first is None or symbol is None:
        return None
    address = start.address + offset - symbol.offset
    if address == start.address:
        return SymbolLanding(name, offset, first.size, start.code, address)
    code = any(entry.code for entry in symbols.at(address) if entry.name == symbol.name)
    return SymbolLanding(symbol.name, symbol.offset, first.size, code, address)


def symbol_places(symbols: Symbols, name: str) -> list[SymbolPlace]:
    """Return the places of all symbols of a name."""
    found = []
    for entry in symbols.named(name):
        here = symbols.find(entry.address)
        size = here.size if here is not None and not here.offset else 0
        found.append(SymbolPlace(entry.address, size, entry.module, entry.code))
    return found


def symbol_environment(symbols: Symbols) -> Environment:
    """Return the lookups that the symbol table can answer."""
    return Environment(
        symbol=functools.partial(count_symbols, symbols),
        code_only=not symbols.has_data,
        landing=functools.partial(symbol_at_offset, symbols),
    )


def base_of(entry: KallsymsEntry, symbols: Symbols) -> SymbolBase | None:
    """Return a symbol before a function, in its module, with a unique name, and the distance; None: there is none."""
    if not entry.module:
        start = symbols.named(TEXT)
        return SymbolBase(TEXT, entry.address - start[0].address) if len(start) == 1 else None
    for candidate in symbols.preceding(entry.address):
        if (
            candidate.module == entry.module
            and is_identifier(candidate.name)
            and len(symbols.named(candidate.name)) == 1
        ):
            return SymbolBase(candidate.name, entry.address - candidate.address)
    return None


def with_function_name(probe: Armable, symbols: Callable[[], Symbols | None]) -> Armable:
    """Give a probe at an address the name of the function that begins there, for its types and for users.

    Args:
        probe: `p 0xffffffff81234560`, `p _text+0x234560`; other probes are returned unchanged.
        symbols: called for such a probe only, as reading them may take long.
    """
    if not isinstance(probe, Probe) or not is_function(probe):
        return probe
    place = probe.place
    number = kstrtoul(place.symbol)
    if number is None and (place.symbol != TEXT or place.base is None):
        return probe
    table = symbols()
    if table is None:
        return probe
    if number is None and place.base is not None:
        number = next((entry.address for entry in table.named(TEXT)), 0) + place.base.distance
    entry = next((entry for entry in table.at(number or 0) if entry.code), None)
    base = base_of(entry, table) if entry is not None else None
    if entry is None or base is None:
        return probe
    place_by_name = ProbePlace(entry.name, entry.module or None, written=str(place), base=base, address=entry.address)
    return replace(probe, place=place_by_name)
