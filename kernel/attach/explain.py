"""Why a function of an open target can't be probed, and what instead, with all that can be seen."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kernel.attach import symbols
from kernel.connection.planner import Connection
from kernel.recording.target import RecordingTarget
from probes.attaching.values import AbsentModule, Attachability, SymbolLookups
from probes.probe import ProbeKind

if TYPE_CHECKING:  # `callers` takes a tenth of a second to import, and few ask for them; `far` a fiftieth
    from kernel.attach.callers import CallerSearch
    from kernel.attach.debug_info import DebugInfo
    from kernel.attach.machine_code import Progress
    from probes.attaching.callers import Callers


class AttachExplainer:
    """For one connection; everything here may take seconds on a machine far away: for a worker."""

    def __init__(self, connection: Connection, vmlinux: Path | None = None) -> None:
        """`vmlinux`: with debug information of this kernel; None: it is looked for where distributions put it."""
        self._connection = connection
        self._vmlinux = vmlinux
        self._absent: dict[str, Sequence[AbsentModule]] = {}
        """Modules that have a function and aren't loaded, of functions that were looked at."""
        self._looking = threading.Lock()
        self._searching = threading.Lock()  # its own: who asks about another function doesn't wait for a search

    @property
    def near(self) -> bool:
        """Whether the exact answer is there in a moment: nothing has to come from another machine for it."""
        target = self._connection.target
        if isinstance(target, RecordingTarget):
            return True
        from kernel.remote.target import RemoteTarget

        return not isinstance(target, RemoteTarget)

    def about(self, name: str) -> Attachability:
        """The exact answer; from the first call on the catalog's are exact as well. Raises TargetLost."""
        self._look()
        if self._ground.absent is not None:
            self._absent[name] = self._ground.absent(name)
        return self._connection.catalog.attachability(name)

    @property
    def debug_info(self) -> Path | None:
        """Where functions are known that have no code of their own; None: there is none of this kernel."""
        return self._debug.path if self._debug.file else None

    def callers(self, name: str, progress: Progress = lambda _: True) -> Callers | None:
        """Who calls it, by the code of the kernel; None: stopped by `progress`. Raises TargetLost."""
        self._look()
        with self._searching:
            callers = self._search.find(name, progress)
        btf = self._connection.btf
        if callers is None or callers.found or btf is None:
            return callers
        from probes.attaching.relatives import relatives

        return replace(callers, relatives=relatives(name, btf, self._kinds))

    def _kinds(self, name: str) -> frozenset[ProbeKind]:
        return self._connection.catalog.attachability(name).kinds

    def _look(self) -> None:
        with self._looking:
            # Who asks the catalog may be drawing: it waits for no file of another machine.
            known = (
                self._ground if self.near else replace(self._ground, absent=lambda name: self._absent.get(name, ()))
            )
            self._connection.catalog.ground = known

    @cached_property
    def _ground(self) -> SymbolLookups:
        connection = self._connection
        return symbols.look(connection.target, connection.facts.release, connection.symbols)

    @cached_property
    def _search(self) -> CallerSearch:
        from kernel.attach.callers import CallerSearch

        connection, machine = self._connection, self._connection.facts.machine
        return CallerSearch(connection.target, machine, connection.symbols, connection.catalog, self._debug)

    @cached_property
    def _debug(self) -> DebugInfo:
        from kernel.attach.debug_info import DebugInfo

        return DebugInfo(self._connection.target, self._connection.facts.release, self._vmlinux)
