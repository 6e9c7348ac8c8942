"""Go through the new rows of a store once, as columns, in bounded steps; a filter may leave some out."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from events.store.columns import PIECE

if TYPE_CHECKING:
    from events.search.filtered_rows import FilteredRows
    from events.store.columns import FormatTable
    from events.store.store import Store


class NewRows:
    """Rows of a store that were not looked at yet; those that it has dropped by then are left out."""

    def __init__(self, store: Store, passing: FilteredRows | None = None) -> None:
        """Take a store; `passing`: the events that pass a filter; None: all do."""
        self.passing = passing
        self._store = store
        self._at = store.first_seq

    @property
    def backlog(self) -> int:
        """Number of events that were not looked at yet."""
        return self._store.next_seq - max(self._at, self._store.first_seq)

    def give(self, take: Callable[[FormatTable], object], budget: float) -> None:
        """Call `take` with the tables of new rows, for about `budget` seconds.

        Those of one event, which was armed again or is of another boot, come in the order of their rows.
        """
        deadline = time.monotonic() + budget
        if self.passing is not None:
            self.passing.tick(budget / 2)
        while self._step(take) and time.monotonic() < deadline:
            pass

    def _step(self, take: Callable[[FormatTable], object]) -> bool:
        """Take one piece; return False if there is none."""
        self._at = max(self._at, self._store.first_seq)
        end = self._store.next_seq if self.passing is None else min(self._store.next_seq, self.passing.looked)
        stop = min(self._at + PIECE, end)
        if self._at >= stop:
            return False
        columns = self._store.columns(self._at, stop)
        if self.passing is not None:
            columns = columns.only(self.passing.has(np.arange(self._at, stop)))
        self._at = stop
        for table in sorted(columns.tables.values(), key=lambda table: int(table.places[0])):
            take(table)
        return True
