"""The calls that have begun and not ended, between what was taken and what comes next."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.graph.begin_end_columns import BeginEndColumns, Ints, Mask, RowKind, together

MOST_OPEN: Final = 1 << 14
"""Calls that may be open at once; of more, those of the tasks that have been still for longest are given up."""


class AbandonedCalls(NamedTuple):
    """Calls whose end is not expected any more."""

    rows: Ints
    counted: int
    """Without interrupts and times off a CPU."""


class OpenCalls:
    """Begins, in the order of their rows."""

    def __init__(self) -> None:
        self.begins: BeginEndColumns | None = None
        """None as long as there were none."""
        self.rows: Ints = np.empty(0, np.int64)
        """Of the tree, for each begin."""

    @property
    def count(self) -> int:
        """Calls that are open, without interrupts and times off a CPU."""
        return 0 if self.begins is None else counted(self.begins)

    def of(self, tasks: NDArray[np.int32]) -> Mask:
        """Which belong to some tasks."""
        return np.zeros(0, np.bool_) if self.begins is None else np.isin(self.begins.task, tasks)

    def before(self, events: BeginEndColumns, which: Mask) -> BeginEndColumns:
        """Some of them in front of events."""
        return together([self.begins.of(which), events]) if self.begins is not None and which.any() else events

    def exchange(self, which: Mask, begins: BeginEndColumns, rows: Ints) -> None:
        """Others are open in the place of some."""
        if self.begins is None or not len(self.rows):
            self.begins, self.rows = begins, rows
        else:
            self.begins = together([self.begins.of(~which), begins])
            self.rows = np.concatenate((self.rows[~which], rows))

    def give_up(self, which: Mask | None = None) -> AbandonedCalls | None:
        """Take some out, or all; None: that is none."""
        which = np.ones(len(self.rows), np.bool_) if which is None else which
        if self.begins is None or not which.any():
            return None
        gone = AbandonedCalls(self.rows[which], counted(self.begins.of(which)))
        self.begins, self.rows = self.begins.of(~which), self.rows[~which]
        return gone

    def still(self) -> Mask | None:
        """Where there are too many: those of the tasks that have begun none for longest."""
        if self.begins is None or len(self.rows) <= MOST_OPEN:
            return None
        tasks, places = np.unique(self.begins.task, return_inverse=True)
        youngest = np.zeros(len(tasks), np.int64)
        np.maximum.at(youngest, places, self.rows)
        order = np.argsort(youngest[places], kind="stable")[: len(self.rows) - MOST_OPEN // 2]
        return np.isin(places, places[order])


def counted(begins: BeginEndColumns) -> int:
    """Return how many calls those are: a time off the CPU is none, nor is an interrupt."""
    return int((begins.what == RowKind.CALL).sum())
