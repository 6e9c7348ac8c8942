"""Why a function of an open target can't be probed, and what instead: `probes.attach` with all that can be seen."""

from __future__ import annotations

import threading
from functools import cached_property

from kernel import ground
from kernel.callers import CallerSearch, Progress
from kernel.connection import Connection
from kernel.far import FarTarget
from probes.callers import Callers
from probes.reasons import Attachability, Ground


class Attaching:
    """For one connection; everything here may take seconds on a machine far away: for a worker."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._searching = threading.Lock()

    @property
    def near(self) -> bool:
        """Whether the exact answer is there in a moment: nothing has to come from another machine for it."""
        return not isinstance(self._connection.target, FarTarget)

    def about(self, name: str) -> Attachability:
        """The exact answer; from the first call on the catalog's are exact as well. Raises TargetLost."""
        self._look()
        return self._connection.catalog.attachability(name)

    def callers(self, name: str, progress: Progress = lambda _: True) -> Callers | None:
        """Who calls it, by the code of the kernel; None: stopped by `progress`. Raises TargetLost."""
        self._look()
        with self._searching:
            return self._search.find(name, progress)

    def _look(self) -> None:
        with self._searching:
            self._connection.catalog.ground = self._ground

    @cached_property
    def _ground(self) -> Ground:
        connection = self._connection
        return ground.look(connection.target, connection.facts.release, connection.symbols)

    @cached_property
    def _search(self) -> CallerSearch:
        connection = self._connection
        return CallerSearch(connection.target, connection.facts.machine, connection.symbols, connection.catalog)
