"""The callers of a function of a running kernel: by its own code, and by debug information where there is some."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence

from btf.debug.dwarf import DwarfError
from events.names.kallsyms import Symbols
from kernel.attach.debug_info import DebugInfo
from kernel.attach.machine_code import KernelCode, Progress, SearchStopped
from kernel.errors import FileRefused
from kernel.target import Target
from probes.attaching import branches
from probes.attaching.attach import COLD, PADDING
from probes.attaching.callers import Callers, CallSite, direct_callers, owner, with_inlined
from probes.attaching.catalog import Catalog
from probes.attaching.values import ReasonKind, Relation
from probes.probe import ProbePlace

_ENTRIES = (b"\xf3\x0f\x1e\xfa", b"\x0f\x1f\x40\xd6")
"""ENDBR64 on x86-64, and what the kernel puts there where it isn't needed: calls may skip it."""


class CallerSearch:
    """Finds callers on one target; the code is read once."""

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
        """The callers of a function; None: stopped by `progress`. Raises TargetLost."""
        if self._symbols is None:
            return Callers(name, trouble="the kernel hides the addresses of its functions")
        try:
            callers = self._by_code(name, self._symbols, progress)
            return self._by_debug_info(callers, self._symbols, progress)
        except SearchStopped:
            return None

    def _by_code(self, name: str, symbols: Symbols, progress: Progress) -> Callers:
        entries = symbols.named(name) or symbols.beginning(f"{name}.")
        starts = [entry.address for entry in entries if entry.code and COLD not in entry.name]
        if not starts:
            return Callers(name, trouble="it has no code of its own that could be called")
        if not branches.knows(self._machine):
            return Callers(name, trouble=f"code of {self._machine} can't be read here")
        try:
            if self._code is None:
                self._code = KernelCode(self._target, symbols, progress)
        except FileRefused as error:
            return Callers(name, trouble=f"the kernel's code can't be read ({error})")
        return _InCode(self._code, self._machine, symbols, CallSites(symbols, self._catalog)).callers(name, starts)

    def _by_debug_info(self, callers: Callers, symbols: Symbols, progress: Progress) -> Callers:
        """Add where it was inlined; as they are where there is no debug information."""
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
            found = [(address, spot(address + start - file.text)) for address in inlined.addresses]
            where = {spot.start: spot for _, spot in found if spot is not None}
            kept = any(entry.code for entry in symbols.named(callers.name))
            callers = with_inlined(callers, tuple(where.values()), len(found), kept, str(self._debug.path))
        return callers


class CallSites:
    """Functions by addresses in them, as they can be probed."""

    def __init__(self, symbols: Symbols, catalog: Catalog) -> None:
        self._symbols, self._catalog = symbols, catalog

    def around(self, address: int) -> CallSite | None:
        """The function whose code is at an address."""
        place = self._symbols.find(address)
        if place is None:
            return None
        name = owner(place.name)
        if name == place.name:
            return self._named(address - place.offset, name)._replace(offset=place.offset)
        owners = [entry.address for entry in self._symbols.named(name)]
        # Of several functions of one name nobody knows whose part it is.
        return self._named(owners[0], name) if len(owners) == 1 else None

    def _named(self, start: int, name: str) -> CallSite:
        """By the name under which it can be probed, that of the tracer's list first; a twin by its address."""
        names = self._symbols.names_at(start) or [name]
        answers = map(self._catalog.attachability, names)
        for about in sorted(answers, key=lambda about: about.has(ReasonKind.ALIAS)):
            one = about.name
            if about.kinds:
                return CallSite(one, start, ProbePlace(one), about.kinds)
            twin = next((i for i in about.instead if i.how is Relation.TWIN and i.place.address == start), None)
            if twin is not None:
                return CallSite(one, start, twin.place, twin.kinds)
        return CallSite(name, start, ProbePlace(name), frozenset())


class _InCode:
    """One search through the code."""

    def __init__(self, code: KernelCode, machine: str, symbols: Symbols, spots: CallSites) -> None:
        self._code, self._machine, self._symbols, self._spots = code, machine, symbols, spots

    def callers(self, name: str, starts: Sequence[int]) -> Callers:
        entries = {entry for start in starts for entry in self._entries(start)}
        return direct_callers(name, entries, self._scan, self._spots.around, self._entries, "the kernel's code")

    def _scan(self, targets: Collection[int]) -> Sequence[branches.Branch]:
        return self._code.branches_to(targets, self._machine)

    def _entries(self, start: int) -> Collection[int]:
        """Calls go to the first instruction, behind the mark for indirect calls, or into the padding in front."""
        entries = {start}
        if self._code.bytes_at(start, 4) in _ENTRIES:
            entries.add(start + 4)
        names = {f"{PADDING}{name}" for name in self._symbols.names_at(start)}
        entries |= {
            pad.address for name in names for pad in self._symbols.named(name) if 0 < start - pad.address < 64
        }
        return entries
