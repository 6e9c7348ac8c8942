"""Explain why a function of an open target can't be probed, and list alternatives, from all available data."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kernel.attach import symbols
from kernel.connection.kernel_info import KernelInfo
from kernel.target import TargetKind
from probes.attaching.values import AbsentModule, Attachability, SymbolLookups
from probes.probe import ProbeKind

if TYPE_CHECKING:  # `callers` takes a tenth of a second to import and is seldom needed; `remote.target` a fiftieth
    from kernel.attach.callers import CallerSearch
    from kernel.attach.debug_info import DebugInfo
    from kernel.attach.machine_code import Progress
    from probes.attaching.callers import Callers


class AttachExplainer:
    """Explanations for one connection; every call may take seconds on a remote host: for a worker."""

    def __init__(self, info: KernelInfo, vmlinux: Path | None = None) -> None:
        """Take a connection; `vmlinux`: file with debug information of this kernel; None: the paths of
        distributions.
        """
        self._info = info
        self._vmlinux = vmlinux
        self._absent: dict[str, Sequence[AbsentModule]] = {}
        """Modules that contain a function and aren't loaded, by the functions asked for."""
        self._lookup_lock = threading.Lock()
        # A lock of its own: questions about other functions don't wait for a search.
        self._search_lock = threading.Lock()

    @property
    def near(self) -> bool:
        """True if the exact answer takes only a moment, as no data comes from another machine."""
        return self._info.target.kind is not TargetKind.REMOTE

    def attachability(self, name: str) -> Attachability:
        """Return the exact answer; from the first call on the catalog's answers are exact as well. Raises
        TargetLost.
        """
        self._update_catalog()
        if self._lookups.absent is not None:
            self._absent[name] = self._lookups.absent(name)
        return self._info.catalog.attachability(name)

    @property
    def debug_info(self) -> Path | None:
        """File with inlined functions that have no code of their own; None: there is none of this kernel."""
        return self.debug.path if self.debug.file else None

    def callers(self, name: str, progress: Progress = lambda _: True) -> Callers | None:
        """Return the callers of a function, by the code of the kernel; None: stopped by `progress`. Raises
        TargetLost.
        """
        self._update_catalog()
        with self._search_lock:
            callers = self._search.find(name, progress)
        btf = self._info.btf
        if callers is None or callers.callers or btf is None:
            return callers
        from probes.attaching.relatives import relatives

        return replace(callers, relatives=relatives(name, btf, self._kinds))

    def _kinds(self, name: str) -> frozenset[ProbeKind]:
        return self._info.catalog.attachability(name).kinds

    def _update_catalog(self) -> None:
        with self._lookup_lock:
            # The catalog may be used while drawing, which must not wait for a file of another machine.
            lookups = (
                self._lookups if self.near else replace(self._lookups, absent=lambda name: self._absent.get(name, ()))
            )
            self._info.catalog.sources = lookups

    @cached_property
    def _lookups(self) -> SymbolLookups:
        info = self._info
        return symbols.symbol_lookups(info.target, info.facts.release, info.symbols.current)

    @cached_property
    def _search(self) -> CallerSearch:
        from kernel.attach.callers import CallerSearch

        info, machine = self._info, self._info.facts.machine
        return CallerSearch(info.target, machine, info.symbols.current, info.catalog, self.debug)

    @cached_property
    def debug(self) -> DebugInfo:
        """Debug information of the kernel, searched when it is first asked for."""
        from kernel.attach.debug_info import DebugInfo

        return DebugInfo(self._info.target, self._info.facts.release, self._vmlinux)
