"""Merge the events of several hosts into one order by time as they arrive, and store the merged rows.

Connections differ in delay, so an older event may arrive later. Every event waits until it is as old as the window;
older events that arrive meanwhile are placed before it. Events that arrive even later are placed where they arrive,
flagged as late and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.store.blocks import Blocks
from events.store.row_columns import EMPTY, RowColumns, concatenate_rows

WINDOW_NS = 1_000_000_000
"""Nanoseconds for which an event waits for older events of other hosts."""
_MOST_HELD = 1_000_000
"""Maximum number of rows held, so that a window with very many events cannot exhaust memory."""
_LATE = 1 << 30
"""Flag in the host number of a row: the event was late."""
ROWS_BYTES = 48 << 20
"""Maximum bytes of merged rows; beyond it the oldest are dropped."""


class MergedRow(NamedTuple):
    """Reference from the merged list to an event of one host."""

    host: int
    seq: int
    """Sequence number in that host's store."""
    ts: int
    """Time on the local clock, in nanoseconds."""
    late: bool
    """True if later events were placed before this one arrived."""


class HostMerger:
    """Merge of the events of several hosts by time; times are nanoseconds of one clock."""

    def __init__(self, window: int = WINDOW_NS) -> None:
        self.window = window
        self._held: list[RowColumns] = []
        """Held rows, each run sorted by time; keys are sequence numbers, ids are host numbers."""
        self._latest = -(1 << 62)
        """Latest time of all rows returned so far."""
        self._late: Counter[int] = Counter()

    def __len__(self) -> int:
        return sum(len(run.stamps) for run in self._held)

    @property
    def late_events(self) -> Mapping[int, int]:
        """Number of late events by host."""
        return self._late

    def holds(self, host: int) -> bool:
        """Return whether events of a host are held."""
        return any(bool((run.ids == host).any()) for run in self._held)

    def oldest(self, host: int) -> int | None:
        """Return the lowest sequence number of a host's held events; None if none are held."""
        found = [int(keys.min()) for run in self._held if len(keys := run.keys[run.ids == host])]
        return min(found, default=None)

    def add(self, host: int, stamps: NDArray[np.int64], first_seq: int) -> None:
        """Add events of one host with consecutive sequence numbers from `first_seq` on."""
        if not len(stamps):
            return
        keys = np.arange(first_seq, first_seq + len(stamps), dtype=np.int64)
        self._held.append(_ordered(RowColumns(stamps, keys, np.full(len(stamps), host, np.int32))))

    def take(self, now: int) -> RowColumns:
        """Return the rows that are final at time `now`, sorted; their ids include the late flag, see `MergedRows`."""
        cuts = [int(np.searchsorted(run.stamps, now - self.window, side="right")) for run in self._held]
        if len(self) - sum(cuts) > _MOST_HELD:
            return self.flush()
        pairs = list(zip(self._held, cuts, strict=True))
        self._held = [run.part(cut, len(run.stamps)) for run, cut in pairs if cut < len(run.stamps)]
        return self._finalize([run.part(0, cut) for run, cut in pairs if cut])

    def flush(self) -> RowColumns:
        """Return all held rows, sorted by time, and hold none."""
        runs, self._held = self._held, []
        return self._finalize(runs)

    def _finalize(self, runs: Sequence[RowColumns]) -> RowColumns:
        if not runs:
            return EMPTY
        run = _ordered(concatenate_rows(runs))
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
    """Merged list of rows, addressed by numbers that never shift."""

    def __init__(self, limit_bytes: int = ROWS_BYTES) -> None:
        self._blocks = Blocks()
        self._limit = limit_bytes

    @property
    def first(self) -> int:
        """Number of the oldest row that is retained."""
        return self._blocks.first_seq

    @property
    def next(self) -> int:
        """Number that the next row will get."""
        return self._blocks.next_seq

    def append(self, run: RowColumns) -> int:
        """Append rows returned by `HostMerger` and return their number."""
        if len(run.stamps):
            self._blocks.evict(self._limit, None)  # evict before appending: new rows have not been displayed yet
            self._blocks.append(run)
        return len(run.stamps)

    def let_go(self, before: int) -> None:
        """Drop the rows before a number, which are no longer needed."""
        self._blocks.evict(self._limit, None, before)

    def part(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return host numbers and sequence numbers of the rows from `start` to before `stop`."""
        run = self._blocks.rows(start, stop)
        return run.ids.astype(np.int64) & ~_LATE, run.keys

    def row(self, number: int) -> MergedRow:
        """Return one row.

        Raises:
            IndexError: the row was dropped, or has not been added yet.
        """
        ts, seq, host = self._blocks.row(number)
        return MergedRow(host & ~_LATE, seq, ts, bool(host & _LATE))


def _ordered(run: RowColumns) -> RowColumns:
    """Return the rows sorted by time; rows with equal time keep their order."""
    if (run.stamps[:-1] <= run.stamps[1:]).all():
        return run
    return run.of(run.stamps.argsort(kind="stable"))
