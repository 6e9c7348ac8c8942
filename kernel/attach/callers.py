"""Find the callers of a function of a running kernel: from its code, and from debug information if available."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence

from btf.debug.dwarf import DwarfError
from events.names.kallsyms import Symbols
from kernel.attach.debug_info import DebugInfo
from kernel.attach.machine_code import KernelCode, Progress, SearchStopped
from kernel.errors import FileRefused
from kernel.target import Target
from probes.attaching.attach import COLD, PADDING
from probes.attaching.callers import Callers, CallSite, direct_callers, split_from, with_inlined
from probes.attaching.catalog import Catalog
from probes.attaching.values import ReasonKind, Relation
from probes.code.architectures.table import ARCHITECTURES
from probes.code.decoded import Branch
from probes.probe import ProbePlace


class CallerSearch:
    """Search for callers on one target; the code is read once."""

    def __init__(
        self, target: Target, machine: str, symbols: Symbols | None, catalog: Catalog, debug: DebugInfo
    ) -> None:
        self._target = target
        self._machine = machine
        self._symbols = symbols
        self._catalog = catalog
        self._debug = debug
        self._code: KernelCode | None = None

    def find(self, name: str, progress: Progress = lambda _: True) -> Callers | None:
        """Return the callers of a function; None: stopped by `progress`. Raises TargetLost."""
        if self._symbols is None:
            return Callers(name, error="the kernel hides the addresses of its functions")
        try:
            callers = self._by_code(name, self._symbols, progress)
            return self._by_debug_info(callers, self._symbols, progress)
        except SearchStopped:
            return None

    def _by_code(self, name: str, symbols: Symbols, progress: Progress) -> Callers:
        entries = symbols.named(name) or symbols.beginning(f"{name}.")
        starts = [entry.address for entry in entries if entry.code and COLD not in entry.name]
        if not starts:
            return Callers(name, error="it has no code of its own that could be called")
        if self._machine not in ARCHITECTURES:
            return Callers(name, error=f"code of {self._machine} can't be read here")
        try:
            if self._code is None:
                self._code = KernelCode(self._target, symbols, progress)
        except FileRefused as error:
            return Callers(name, error=f"the kernel's code can't be read ({error})")
        return _CodeSearch(self._code, self._machine, symbols, CallSites(symbols, self._catalog)).callers(
            name, starts
        )

    def _by_debug_info(self, callers: Callers, symbols: Symbols, progress: Progress) -> Callers:
        """Add the callers into which it was inlined; unchanged without debug information."""
        start = next((entry.address for entry in symbols.named("_stext")), None)
        file = self._debug.file
        if file is None or start is None:
            return callers
        with contextlib.suppress(DwarfError):
            inlined = file.inlined(callers.name, progress)
            if inlined is None:
                raise SearchStopped
            if not inlined.known:
                return callers
            spot = CallSites(symbols, self._catalog).around
            sites = [(address, spot(address + start - file.text)) for address in inlined.addresses]
            spots = {spot.start: spot for _, spot in sites if spot is not None}
            has_own_code = any(entry.code for entry in symbols.named(callers.name))
            callers = with_inlined(callers, tuple(spots.values()), len(sites), has_own_code, str(self._debug.path))
        return callers


class CallSites:
    """Mapping of addresses to functions, under names that can be probed."""

    def __init__(self, symbols: Symbols, catalog: Catalog) -> None:
        self._symbols, self._catalog = symbols, catalog

    def around(self, address: int) -> CallSite | None:
        """Return the function whose code is at an address."""
        symbol = self._symbols.find(address)
        if symbol is None:
            return None
        name = split_from(symbol.name)
        if name == symbol.name:
            return self._site_named(address - symbol.offset, name)._replace(offset=symbol.offset)
        owners = [entry.address for entry in self._symbols.named(name)]
        # Of several functions of one name the owner of the part is unknown.
        return self._site_named(owners[0], name) if len(owners) == 1 else None

    def _site_named(self, start: int, name: str) -> CallSite:
        """Return the function by a name that can be probed, that of the tracer's list first; a twin by its
        address.
        """
        names = self._symbols.names_at(start) or [name]
        answers = map(self._catalog.attachability, names)
        for about in sorted(answers, key=lambda about: about.has(ReasonKind.ALIAS)):
            alias = about.name
            if about.kinds:
                return CallSite(alias, start, ProbePlace(alias), about.kinds)
            twin = next(
                (
                    alternative
                    for alternative in about.alternatives
                    if alternative.relation is Relation.TWIN and alternative.place.address == start
                ),
                None,
            )
            if twin is not None:
                return CallSite(alias, start, twin.place, twin.kinds)
        return CallSite(name, start, ProbePlace(name), frozenset())


class _CodeSearch:
    """Search of one kernel's code for calls."""

    def __init__(self, code: KernelCode, machine: str, symbols: Symbols, spots: CallSites) -> None:
        self._code, self._machine, self._symbols, self._spots = code, machine, symbols, spots

    def callers(self, name: str, starts: Sequence[int]) -> Callers:
        entries = {entry for start in starts for entry in self._entries(start)}
        return direct_callers(name, entries, self._scan, self._spots.around, self._entries, "the kernel's code")

    def _scan(self, targets: Collection[int]) -> Sequence[Branch]:
        return self._code.branches_to(targets, self._machine)

    def _entries(self, start: int) -> Collection[int]:
        """Return the addresses that calls use: the first instruction, behind the mark for indirect calls, or in the
        padding.
        """
        entries = {start}
        for mark in ARCHITECTURES[self._machine].ENTRY_MARKS:
            if self._code.bytes_at(start, len(mark)) == mark:
                entries.add(start + len(mark))
        names = {f"{PADDING}{name}" for name in self._symbols.names_at(start)}
        entries |= {
            pad.address for name in names for pad in self._symbols.named(name) if 0 < start - pad.address < 64
        }
        return entries
