"""Functions and their addresses, by the table of symbols: how to tell the kernel which of several of one name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

from events.names.kallsyms import KallsymsEntry, Symbols
from probes.command import Armable, is_function
from probes.facts.lookups import Environment, SymbolCount, SymbolLanding
from probes.probe import TEXT, Probe, ProbePlace, SymbolBase
from probes.syntax.text import is_identifier, kstrtoul


def counted(symbols: Symbols, name: str) -> SymbolCount:
    """How often there is a symbol of a name."""
    found = symbols.named(name)
    modules = sum(1 for entry in found if entry.module)
    alike = symbols.at(found[0].address) if len(found) == 1 else []
    twins = tuple(entry.name for entry in alike if entry.name != name)
    return SymbolCount(len(found) - modules, modules, twins, symbols.aliases(found[0]) if twins else ())


def landing(symbols: Symbols, name: str, offset: int) -> SymbolLanding | None:
    """What lies so many bytes behind the only symbol of a name; None: nothing."""
    start = next(iter(symbols.named(name)), None)
    whole = symbols.find(start.address) if start is not None else None
    found = symbols.find(start.address + offset) if start is not None else None
    if start is None or whole is None or found is None:
        return None
    at = start.address + offset - found.offset
    if at == start.address:
        return SymbolLanding(name, offset, whole.size, start.code, at)
    code = any(entry.code for entry in symbols.at(at) if entry.name == found.name)
    return SymbolLanding(found.name, found.offset, whole.size, code, at)


def by_symbols(symbols: Symbols) -> Environment:
    """The lookups that the table of symbols answers."""
    return Environment(
        symbol=functools.partial(counted, symbols),
        code_only=not symbols.has_data,
        landing=functools.partial(landing, symbols),
    )


def base_of(entry: KallsymsEntry, symbols: Symbols) -> SymbolBase | None:
    """A symbol in front of a function, in the same module, that is the only one of its name; None: there is none."""
    if not entry.module:
        start = symbols.named(TEXT)
        return SymbolBase(TEXT, entry.address - start[0].address) if len(start) == 1 else None
    for found in symbols.preceding(entry.address):
        if found.module == entry.module and is_identifier(found.name) and len(symbols.named(found.name)) == 1:
            return SymbolBase(found.name, entry.address - found.address)
    return None


def by_name(probe: Armable, symbols: Callable[[], Symbols | None]) -> Armable:
    """Give a probe at an address the name of the function that begins there, for its types and for people.

    Args:
        probe: `p 0xffffffff81234560`, `p _text+0x234560`; any other is given back.
        symbols: asked for such a probe only, for to read them may take long.
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
    found = next((entry for entry in table.at(number or 0) if entry.code), None)
    base = base_of(found, table) if found is not None else None
    if found is None or base is None:
        return probe
    named = ProbePlace(found.name, found.module or None, written=str(place), base=base, address=found.address)
    return replace(probe, place=named)
