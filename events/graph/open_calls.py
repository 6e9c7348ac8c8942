"""Track the calls that have begun and not ended, between the processed events and the next ones."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.graph.begin_end_columns import BeginEndColumns, Ints, Mask, RowKind, concatenate_columns

MOST_OPEN: Final = 1 << 14
"""Maximum number of open calls; beyond it, those of the tasks inactive for longest are abandoned."""


class AbandonedCalls(NamedTuple):
    """Calls whose end is no longer expected."""

    rows: Ints
    counted: int
    """Number of calls, without interrupts and times off the CPU."""


class OpenCalls:
    """Begins of open calls, in the order of their rows."""

    def __init__(self) -> None:
        self.begins: BeginEndColumns | None = None
        """Begin events; None until there are any."""
        self.rows: Ints = np.empty(0, np.int64)
        """Row of the tree for each begin."""

    @property
    def count(self) -> int:
        """Number of open calls, without interrupts and times off the CPU."""
        return 0 if self.begins is None else counted(self.begins)

    def of(self, tasks: NDArray[np.int32]) -> Mask:
        """Return a mask of the begins that belong to some tasks."""
        return np.zeros(0, np.bool_) if self.begins is None else np.isin(self.begins.task, tasks)

    def before(self, events: BeginEndColumns, which: Mask) -> BeginEndColumns:
        """Return some of the begins followed by events."""
        return (
            concatenate_columns([self.begins.of(which), events])
            if self.begins is not None and which.any()
            else events
        )

    def exchange(self, which: Mask, begins: BeginEndColumns, rows: Ints) -> None:
        """Replace some of the begins by others."""
        if self.begins is None or not len(self.rows):
            self.begins, self.rows = begins, rows
        else:
            self.begins = concatenate_columns([self.begins.of(~which), begins])
            self.rows = np.concatenate((self.rows[~which], rows))

    def give_up(self, which: Mask | None = None) -> AbandonedCalls | None:
        """Remove some of the begins, or all, and return them; None: there are none."""
        which = np.ones(len(self.rows), np.bool_) if which is None else which
        if self.begins is None or not which.any():
            return None
        removed = AbandonedCalls(self.rows[which], counted(self.begins.of(which)))
        self.begins, self.rows = self.begins.of(~which), self.rows[~which]
        return removed

    def stale(self) -> Mask | None:
        """Return a mask of the begins to abandon if there are too many: those of the tasks whose last begin is
        oldest.
        """
        if self.begins is None or len(self.rows) <= MOST_OPEN:
            return None
        tasks, places = np.unique(self.begins.task, return_inverse=True)
        youngest = np.zeros(len(tasks), np.int64)
        np.maximum.at(youngest, places, self.rows)
        order = np.argsort(youngest[places], kind="stable")[: len(self.rows) - MOST_OPEN // 2]
        return np.isin(places, places[order])


def counted(begins: BeginEndColumns) -> int:
    """Return the number of calls among begins; interrupts and times off the CPU do not count."""
    return int((begins.kind == RowKind.CALL).sum())
