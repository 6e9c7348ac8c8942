"""Merge the events of all CPUs into one order by time as they are read.

The CPUs' ring buffers are read one after the other, so events of one CPU in a pass may be older than those of
another. All events are held back for one pass: an event that a pass did not see was written after the pass began, and
the pass began after the latest event of the passes before it. A record that a program was still writing hides those
behind it from the pass: nothing after the last one before it is final.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

import numpy as np

from events.store.row_columns import RowColumns, concatenate_rows

_MOST_HELD = 1_000_000
"""Maximum number of rows held, which bounds memory for a stream that never reports a CPU as drained."""


class Merger:
    """Buffer that holds events until no older ones can arrive, and sorts each event once, when its position is
    final.
    """

    def __init__(self) -> None:
        self._held: list[RowColumns] = []
        """Held rows, each run sorted by time, runs of earlier passes first."""
        self._latest = -1
        """Latest time stamp of all passes so far; -1 before the first."""
        self.ceiling = sys.maxsize
        """Time behind which no event is final."""
        self._limit = -1
        """Time up to which all events were returned."""

    @property
    def latest(self) -> int:
        """Latest time stamp of all passes so far; -1 before the first."""
        return self._latest

    def __len__(self) -> int:
        return sum(len(run.stamps) for run in self._held)

    @property
    def lowest_key(self) -> int | None:
        """Smallest key of the held rows; None if no rows are held."""
        return min((int(run.keys.min()) for run in self._held), default=None)

    def merge(
        self,
        runs: Sequence[RowColumns],
        ends: Collection[int],
        finals: Collection[int],
        drained: bool,
        before_open: Collection[int] = (),
    ) -> RowColumns:
        """Add one pass and return the rows that are now final, sorted by time.

        Args:
            runs: one per CPU that had events in this pass.
            ends: time of each ring buffer's last event in this pass, including events that are in no run because they
                have no format.
            finals: as `ends`, or just before it where the last event must wait for its stack.
            drained: True if every CPU was read until it was empty.
            before_open: time of the last event before each record that is being written; -1: there was none in this
                pass.
        """
        # A CPU that was not drained may have more events after its last one.
        limit = min([self._latest, *(() if drained else finals)])
        limit = self._limit = min([limit, self.ceiling, *(max(self._limit, end) for end in before_open)])
        self._latest = max([self._latest, *ends])
        self._held += [_ordered([run]) for run in runs]
        cuts = [int(np.searchsorted(run.stamps, limit, side="right")) for run in self._held]
        if len(self) - sum(cuts) > _MOST_HELD:
            return self.flush()
        pairs = list(zip(self._held, cuts, strict=True))
        self._held = [run.part(cut, len(run.stamps)) for run, cut in pairs if cut < len(run.stamps)]
        return _ordered([run.part(0, cut) for run, cut in pairs if cut])

    def hold(self, runs: Sequence[RowColumns]) -> None:
        """Add rows that are of no pass, until all older events are there."""
        self._held += [_ordered([run]) for run in runs]

    def flush(self) -> RowColumns:
        """Return all held rows, sorted by time, and hold none."""
        runs, self._held = self._held, []
        return _ordered(runs)


def _ordered(runs: Sequence[RowColumns]) -> RowColumns:
    """Return the rows of all runs sorted by time; rows with equal time keep their order."""
    rows = concatenate_rows(runs)
    stamps = rows.stamps
    if (stamps[:-1] <= stamps[1:]).all():
        return rows
    order = stamps.argsort(kind="stable")
    return rows.of(order)
