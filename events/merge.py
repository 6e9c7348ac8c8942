"""One order of events over all CPUs, as they come in.

The buffers of the CPUs are read one after the other, so what a pass has of one CPU may be older than what it has of
another. Everything is held back one pass: whatever a pass did not see was written after the pass began, and the pass
began after the latest event of the passes before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import chain
from typing import NamedTuple

_MOST_HELD = 200_000
"""Rows; a stream that never says which CPU was drained must not fill the memory."""


class Run(NamedTuple):
    """Events of one CPU in the order of its buffer, or of all CPUs in the order of time."""

    stamps: Sequence[int]
    keys: Sequence[int]
    ids: Sequence[int]


_EMPTY = Run((), (), ())


class Merger:
    """Holds events until no older one can come; each is put in order once, when it is final."""

    def __init__(self) -> None:
        self._held: list[Run] = []
        """Each in order of time, the earlier passes first."""
        self._seen = -1
        """Latest time stamp of all passes so far."""

    def __len__(self) -> int:
        return sum(len(run.stamps) for run in self._held)

    @property
    def lowest_key(self) -> int | None:
        """Smallest key of what is held; None: nothing is."""
        return min((min(run.keys) for run in self._held), default=None)

    def merge(self, runs: Sequence[Run], ends: Collection[int], drained: bool) -> Run:
        """Take one pass, give what is final now, in order of time.

        Args:
            runs: one for each CPU that had events in this pass.
            ends: time of the last event of each CPU in this pass, whether it is in a run or nobody wants it.
            drained: whether every CPU was read until it was empty.
        """
        # A CPU that was not drained may have more behind its last event.
        limit = self._seen if drained else min([self._seen, *ends])
        self._seen = max([self._seen, *ends])
        self._held += [_ordered([run]) for run in runs]
        cuts = [bisect_right(run.stamps, limit) for run in self._held]
        if len(self) - sum(cuts) > _MOST_HELD:
            return self.flush()
        pairs = list(zip(self._held, cuts, strict=True))
        self._held = [_part(run, cut, len(run.stamps)) for run, cut in pairs if cut < len(run.stamps)]
        return _ordered([_part(run, 0, cut) for run, cut in pairs if cut])

    def flush(self) -> Run:
        """Give everything that is held."""
        held, self._held = self._held, []
        return _ordered(held)


def _part(run: Run, start: int, stop: int) -> Run:
    return Run(run.stamps[start:stop], run.keys[start:stop], run.ids[start:stop])


def _ordered(runs: Sequence[Run]) -> Run:
    """All rows in order of time; rows of one time stay in the order in which they stand here."""
    if not runs:
        return _EMPTY
    together = runs[0] if len(runs) == 1 else Run(*([*chain(*columns)] for columns in zip(*runs, strict=True)))
    stamps = together.stamps
    rising = sorted(stamps)
    if stamps == rising:
        return together
    order = sorted(range(len(stamps)), key=stamps.__getitem__)
    return Run(rising, *([*map(column.__getitem__, order)] for column in together[1:]))
