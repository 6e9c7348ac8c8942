"""One order of events over all CPUs, as they come in.

The buffers of the CPUs are read one after the other, so what a pass has of one CPU may be older than what it has of
another. Everything is held back one pass: whatever a pass did not see was written after the pass began, and the pass
began after the latest event of the passes before it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from events.store.row_columns import RowColumns, joined

_MOST_HELD = 1_000_000
"""Rows; a stream that never says which CPU was drained must not fill the memory."""


class Merger:
    """Holds events until no older one can come; each is put in order once, when it is final."""

    def __init__(self) -> None:
        self._held: list[RowColumns] = []
        """Each in order of time, the earlier passes first."""
        self._seen = -1
        """Latest time stamp of all passes so far."""

    @property
    def latest(self) -> int:
        """Latest time stamp of all passes so far; -1: there was none."""
        return self._seen

    def __len__(self) -> int:
        return sum(len(run.stamps) for run in self._held)

    @property
    def lowest_key(self) -> int | None:
        """Smallest key of what is held; None: nothing is."""
        return min((int(run.keys.min()) for run in self._held), default=None)

    def merge(
        self, runs: Sequence[RowColumns], ends: Collection[int], finals: Collection[int], drained: bool
    ) -> RowColumns:
        """Take one pass, give what is final now, in order of time.

        Args:
            runs: one for each CPU that had events in this pass.
            ends: time of the last event of each CPU in this pass, whether it is in a run or nobody wants it.
            finals: the same, or the time just before it where that event is to wait for its stack.
            drained: whether every CPU was read until it was empty.
        """
        # A CPU that was not drained may have more behind its last event.
        limit = self._seen if drained else min([self._seen, *finals])
        self._seen = max([self._seen, *ends])
        self._held += [_ordered([run]) for run in runs]
        cuts = [int(np.searchsorted(run.stamps, limit, side="right")) for run in self._held]
        if len(self) - sum(cuts) > _MOST_HELD:
            return self.flush()
        pairs = list(zip(self._held, cuts, strict=True))
        self._held = [run.part(cut, len(run.stamps)) for run, cut in pairs if cut < len(run.stamps)]
        return _ordered([run.part(0, cut) for run, cut in pairs if cut])

    def flush(self) -> RowColumns:
        """Give everything that is held."""
        held, self._held = self._held, []
        return _ordered(held)


def _ordered(runs: Sequence[RowColumns]) -> RowColumns:
    """All rows in order of time; rows of one time stay in the order in which they stand here."""
    together = joined(runs)
    stamps = together.stamps
    if (stamps[:-1] <= stamps[1:]).all():
        return together
    order = stamps.argsort(kind="stable")
    return together.of(order)
