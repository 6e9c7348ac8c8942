"""Choose the types, symbols and files that a probe is judged and lowered with, on one target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from events.names.function_choice import is_choice, module_of
from kernel.attach.kept_bodies import FunctionBodies
from kernel.attach.number_readings import NumberReadings
from kernel.connection.called_functions import CalledFunctionSearch
from kernel.connection.function_list import read_function_list
from kernel.connection.kernel_info import KernelInfo
from kernel.symbols.symbol_addresses import (
    base_of,
    symbol_at_offset,
    symbol_environment,
    symbol_places,
    with_function_name,
)
from probes.attaching.values import ReasonKind
from probes.command import Armable, CommandText, has_own_syntax, is_function
from probes.facts.lookups import UNKNOWN, FunctionAt, SymbolLanding, SymbolPlace
from probes.functions.function_index import STUB, index_of
from probes.probe import Probe, ProbeKind, ProbePlace
from probes.sources.source import is_monitor, is_watchpoint
from probes.static_events import Latency

if TYPE_CHECKING:
    from btf.btf import Btf
    from probes.facts.lookups import Environment


class ProbeLookups:
    """Lookups of one target by probe: each reads no more of the target than the probe needs."""

    def __init__(self, info: KernelInfo) -> None:
        self._info = info
        self._readings = NumberReadings(info.target)
        self.called = CalledFunctionSearch(info)
        """Functions that others call."""
        self.bodies = FunctionBodies(info)
        """Code of functions."""

    def types_of(self, probe: Armable | CommandText) -> Btf | None:
        """Return the types to read a probe with, those of its function's module included."""
        known = probe.command if isinstance(probe, CommandText) else probe
        if not isinstance(known, Probe) or known.kind is ProbeKind.EVENT:
            return self._info.btf
        symbol = known.place.symbol
        if known.kind is ProbeKind.TRACEPOINT:
            symbol = f"{STUB}{symbol}"
        module = known.place.module or module_of(str(known.place)) or self._info.function(symbol).module
        return self._info.btf_of(module)

    def around(self, probe: Armable | CommandText) -> Environment:
        """Return the lookups that lowering needs; for function probes nothing is read."""
        known = probe.armable if isinstance(probe, CommandText) else probe
        if known is None:
            return UNKNOWN
        if is_function(known):
            symbols = self._info.symbols.loaded or (
                self._info.symbols.current if self._is_about_symbols(known) else None
            )
            around = UNKNOWN
            if symbols is not None:
                around = replace(symbol_environment(symbols), call_at=self._info.environment.call_at)
            if isinstance(known, Probe) and (known.needs_code or known.place.offset):
                around = replace(around, bodies=self.bodies.read)
            return (
                self._with_choices(around) if isinstance(known, Probe) and is_choice(known.place.symbol) else around
            )
        if is_watchpoint(known):
            return replace(self._info.environment.nearby, symbol_places=self._symbol_places)
        nearby = self._info.environment.nearby
        if is_monitor(known):
            return self._with_readings(nearby)
        return replace(nearby, bodies=self.bodies.read) if isinstance(known, Latency) else nearby

    def _symbol_places(self, name: str) -> Sequence[SymbolPlace]:
        """Return the places of all symbols of a name; the table is read when first asked for."""
        symbols = self._info.symbols.current
        return symbol_places(symbols, name) if symbols is not None else ()

    def _with_readings(self, around: Environment) -> Environment:
        """Return lookups with those of variables and of their values now, where the kernel runs."""
        found = replace(around, symbol_places=self._symbol_places)
        if not self._info.target.is_kernel:
            return found
        readings = self._readings
        return replace(found, read_memory=readings.memory, read_file=readings.file, find_number=readings.number_in)

    def choices(self) -> Environment:
        """Return the lookups of places that stand for several functions: files, calls and addresses."""
        return self._with_choices(UNKNOWN)

    def _with_choices(self, around: Environment) -> Environment:
        """Return lookups with those of several functions: each reads nothing before it is asked for."""
        return replace(
            around, function_list=read_function_list, called=self.called.find, function_at=self._function_at
        )

    def _function_at(self, address: int) -> FunctionAt | None:
        """Return the function that begins at an address, by the name it is traced by where it has several."""
        symbols, count = self._info.symbols.current, index_of(self._info.facts).count
        entries = [entry for entry in symbols.at(address) if entry.code] if symbols is not None else []
        entry = next((entry for entry in entries if count(entry.name)), next(iter(entries), None))
        if entry is None or symbols is None:
            return None
        base = base_of(entry, symbols)
        place = (
            ProbePlace(entry.name, entry.module or None, base=base)
            if base is not None
            else ProbePlace(f"{address:#x}")
        )
        return FunctionAt(entry.name, place.kernel_text)

    def _is_about_symbols(self, probe: Armable) -> bool:
        """Return whether only the symbols decide the verdict: `@variable`, an offset, instructions that are found in
        the code, a part such as `vfs_read.cold`, another name of a traceable function.

        Symbols take some time to read; a text that needs them is checked in a worker
        (`tui.compose.specification.asks_target`).
        """
        if not isinstance(probe, Probe):
            return False
        symbol = probe.place.symbol
        split_off = "." in symbol and not index_of(self._info.facts).count(symbol)
        if split_off or probe.place.offset or probe.needs_code or any("@" in str(arg) for arg in probe.fetchargs):
            return True
        # Known once somebody has read them.
        unlisted = not index_of(self._info.facts).count(symbol)
        return unlisted and self._info.catalog.attachability(symbol).has(ReasonKind.ALIAS)

    def settled(self, probe: Armable | CommandText) -> Armable | CommandText:
        """Return a probe at an address with its function's name; a text in the kernel's syntax is unchanged."""
        if not isinstance(probe, CommandText):
            return with_function_name(probe, lambda: self._info.symbols.current)
        known = probe.armable
        if known is None or not has_own_syntax(probe.text):
            return probe
        settled = with_function_name(known, lambda: self._info.symbols.current)
        return probe if settled is known else settled

    def asked(self) -> Environment:
        """Return the lookups that may ask the target for symbols and files."""
        found = replace(
            self._with_readings(self._with_choices(self._info.environment.environment)), bodies=self.bodies.read
        )
        return found if found.symbol is None else replace(found, landing=self._landing)

    def _landing(self, name: str, offset: int) -> SymbolLanding | None:
        """Return the symbol at an offset; the table is read when first asked for."""
        if self._info.symbols.current is None:
            return SymbolLanding(name, offset, 0, code=True)
        return symbol_at_offset(self._info.symbols.current, name, offset)
