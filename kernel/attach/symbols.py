"""Look up data for `probes.attaching.attach` beyond the facts: symbols by name, modules that aren't loaded.

Each file is read on first use, which takes a moment on a remote host: for a worker.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence, Set

from events.names.kallsyms import Symbols
from events.names.kallsyms_table import KallsymsEntry
from kernel.attach.absent_modules import AbsentModules
from kernel.errors import KernelError
from kernel.symbols.symbol_addresses import base_of
from kernel.target import Target
from probes.attaching.kernel_text import TextSection, TextSections
from probes.attaching.values import AbsentModule, SymbolEntry, SymbolLookups


def symbol_lookups(target: Target, release: str, symbols: Symbols | None) -> SymbolLookups:
    """Return lookups on a machine; data it doesn't show stays unknown."""
    modules = functools.lru_cache(maxsize=256)(AbsentModules(target, release).with_function)

    def absent(name: str) -> Sequence[AbsentModule]:
        with contextlib.suppress(KernelError):  # connection lost: no result is remembered
            return modules(name)
        return ()

    if symbols is None:
        return SymbolLookups(absent=absent)
    sections = TextSections(lambda name: next((entry.address for entry in symbols.named(name)), None))

    def named(name: str) -> Sequence[SymbolEntry]:
        entries = symbols.named(name)
        return [_symbol(entry, symbols, sections, same_name=len(entries)) for entry in entries]

    def copies(name: str) -> Sequence[str]:
        return [e.name for e in symbols.beginning(f"{name}.") if e.code and ".cold" not in e.name]

    def parts(names: Set[str]) -> dict[str, TextSection | None]:
        return sections.of_functions(symbols.lone_functions(names))

    return SymbolLookups(named, copies, absent, parts)


def _symbol(entry: KallsymsEntry, symbols: Symbols, sections: TextSections, same_name: int) -> SymbolEntry:
    section = None if entry.module else sections.at(entry.address)
    code = entry.code and (bool(entry.module) or sections.is_code(entry.address) is not False)
    if same_name < 2:
        return SymbolEntry(entry.address, code, entry.module, section, aliases=symbols.aliases(entry))
    previous, following = symbols.neighbours(entry.address)
    first, last = (neighbour.name if neighbour else "" for neighbour in (previous, following))
    return SymbolEntry(entry.address, code, entry.module, section, first, last, base_of(entry, symbols))
