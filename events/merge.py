"""One order of events over all CPUs, as they come in.

The buffers of the CPUs are read one after the other, so what a pass has of one CPU may be older than what it has of
another. Everything is held back one pass: whatever a pass did not see was written after the pass began, and the pass
began after the latest event of the passes before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
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
    """Holds events until no older one can come."""

    def __init__(self) -> None:
        self._held = _EMPTY
        self._seen = -1
        """Latest time stamp of all passes so far."""

    def __len__(self) -> int:
        return len(self._held.stamps)

    @property
    def lowest_key(self) -> int | None:
        """Smallest key of what is held; None: nothing is."""
        return min(self._held.keys, default=None)

    def merge(self, runs: Sequence[Run], drained: bool) -> Run:
        """Take one pass, give what is final now, in order of time.

        Args:
            runs: one for each CPU that had events in this pass.
            drained: whether every CPU was read until it was empty.
        """
        limit = self._seen
        if not drained:
            # A CPU that was not drained may have more behind its last event.
            limit = min([limit, *(run.stamps[-1] for run in runs)])
        for run in runs:
            self._seen = max(self._seen, run.stamps[-1])
        ordered = _ordered([self._held, *runs])
        cut = bisect_right(ordered.stamps, limit)
        if len(ordered.stamps) - cut > _MOST_HELD:
            cut = len(ordered.stamps)
        return self._split(ordered, cut)

    def flush(self) -> Run:
        """Give everything that is held."""
        return self._split(self._held, len(self._held.stamps))

    def _split(self, ordered: Run, cut: int) -> Run:
        if cut == len(ordered.stamps):
            self._held = _EMPTY
            return ordered
        self._held = Run(*(column[cut:] for column in ordered))
        return Run(*(column[:cut] for column in ordered))


def _ordered(runs: Sequence[Run]) -> Run:
    """All rows in order of time; rows of one time stay in the order in which they stand here."""
    runs = [run for run in runs if run.stamps]
    if not runs:
        return _EMPTY
    stamps, keys, ids = ([item for column in columns for item in column] for columns in zip(*runs, strict=True))
    if stamps == sorted(stamps):
        return Run(stamps, keys, ids)
    order = sorted(range(len(stamps)), key=stamps.__getitem__)
    return Run(*([*map(column.__getitem__, order)] for column in (stamps, keys, ids)))
