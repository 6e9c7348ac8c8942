"""One order of events over several machines, as they come in, and the rows that came of it.

Lines differ: what happened first may arrive last. Every event waits until it is as old as the window is wide; older
ones that come meanwhile go before it. What comes later still is shown where it comes, with a mark, and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.store.blocks import Blocks
from events.store.row_columns import EMPTY, RowColumns, joined

WINDOW_NS = 1_000_000_000
"""How long an event waits for older ones of other machines."""
_MOST_HELD = 1_000_000
"""Rows; more than a window of a storm must not fill the memory."""
_LATE = 1 << 30
"""In the host's number of a row."""
ROWS_BYTES = 48 << 20
"""What the merged rows may take before more are added; the oldest go first."""


class MergedRow(NamedTuple):
    """Where an event of the merged list is found."""

    host: int
    seq: int
    """Its sequence number in that machine's store."""
    ts: int
    """On our clock, in nanoseconds."""
    late: bool
    """Younger ones had their rows already."""


class HostMerger:
    """Puts the events of several machines in order; times are nanoseconds of one clock."""

    def __init__(self, window: int = WINDOW_NS) -> None:
        self.window = window
        self._held: list[RowColumns] = []
        """Each in order of time; keys are sequence numbers, ids are the machines'."""
        self._latest = -(1 << 62)
        """Of all that was given."""
        self._late: Counter[int] = Counter()

    def __len__(self) -> int:
        return sum(len(run.stamps) for run in self._held)

    @property
    def late(self) -> Mapping[int, int]:
        """Events by machine that came too late for their place."""
        return self._late

    def holds(self, host: int) -> bool:
        """Whether an event of a machine waits."""
        return any(bool((run.ids == host).any()) for run in self._held)

    def oldest(self, host: int) -> int | None:
        """Lowest sequence number of the events of a machine that wait; None: none do."""
        found = [int(keys.min()) for run in self._held if len(keys := run.keys[run.ids == host])]
        return min(found, default=None)

    def add(self, host: int, stamps: NDArray[np.int64], first_seq: int) -> None:
        """Take events of one machine, of one sequence number after the other."""
        if not len(stamps):
            return
        keys = np.arange(first_seq, first_seq + len(stamps), dtype=np.int64)
        self._held.append(_ordered(RowColumns(stamps, keys, np.full(len(stamps), host, np.int32))))

    def take(self, now: int) -> RowColumns:
        """What is final at a time, in order; `is_late` and `host_of` read its ids."""
        cuts = [int(np.searchsorted(run.stamps, now - self.window, side="right")) for run in self._held]
        if len(self) - sum(cuts) > _MOST_HELD:
            return self.flush()
        pairs = list(zip(self._held, cuts, strict=True))
        self._held = [run.part(cut, len(run.stamps)) for run, cut in pairs if cut < len(run.stamps)]
        return self._given([run.part(0, cut) for run, cut in pairs if cut])

    def flush(self) -> RowColumns:
        """Everything that waits."""
        held, self._held = self._held, []
        return self._given(held)

    def _given(self, runs: Sequence[RowColumns]) -> RowColumns:
        if not runs:
            return EMPTY
        run = _ordered(joined(runs))
        late = run.stamps < self._latest
        self._latest = max(self._latest, int(run.stamps[-1]))
        if late.any():
            hosts, counts = np.unique(run.ids[late], return_counts=True)
            self._late.update(dict(zip(hosts.tolist(), counts.tolist(), strict=True)))
            run = RowColumns(
                run.stamps, run.keys, np.where(late, run.ids | np.int32(_LATE), run.ids).astype(np.int32)
            )
        return run


class MergedRows:
    """The merged list, by numbers that never shift."""

    def __init__(self, limit_bytes: int = ROWS_BYTES) -> None:
        self._blocks = Blocks()
        self._limit = limit_bytes

    @property
    def first(self) -> int:
        """Oldest row that is kept."""
        return self._blocks.first_seq

    @property
    def next(self) -> int:
        """Number of the row that comes next."""
        return self._blocks.next_seq

    def append(self, run: RowColumns) -> int:
        """Add what a merger gave; gives the number of rows."""
        if len(run.stamps):
            self._blocks.evict(self._limit, None)  # before: what comes now was shown to nobody
            self._blocks.append(run)
        return len(run.stamps)

    def let_go(self, before: int) -> None:
        """Drop the rows before a number, which nobody asks for any more."""
        self._blocks.evict(self._limit, None, before)

    def part(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the machines of the rows from `start` to before `stop`, and their sequence numbers there."""
        run = self._blocks.rows(start, stop)
        return run.ids.astype(np.int64) & ~_LATE, run.keys

    def row(self, number: int) -> MergedRow:
        """One row. Raises IndexError where it was dropped, or is none yet."""
        ts, seq, host = self._blocks.row(number)
        return MergedRow(host & ~_LATE, seq, ts, bool(host & _LATE))


def _ordered(run: RowColumns) -> RowColumns:
    """In order of time; rows of one time stay as they stand."""
    if (run.stamps[:-1] <= run.stamps[1:]).all():
        return run
    return run.of(run.stamps.argsort(kind="stable"))
