"""Rows as columns: what a walk finds, a merge orders and a block keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class RowColumns(NamedTuple):
    """Rows, an array a column."""

    stamps: NDArray[np.int64]
    """Time stamps."""
    keys: NDArray[np.int64]
    """Where the events are; see `events.subbuffer.WORD_BITS`."""
    ids: NDArray[np.int32]
    """Of their formats."""

    def part(self, start: int, stop: int) -> RowColumns:
        """Some of the rows; a view."""
        return RowColumns(self.stamps[start:stop], self.keys[start:stop], self.ids[start:stop])

    def of(self, wanted: NDArray[np.bool_] | NDArray[np.intp]) -> RowColumns:
        """The rows of a mask, or those of these places in this order."""
        return RowColumns(self.stamps[wanted], self.keys[wanted], self.ids[wanted])


EMPTY = RowColumns(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32))


def run_of(stamps: Sequence[int], keys: Sequence[int], ids: Sequence[int]) -> RowColumns:
    """Lists as a run."""
    return RowColumns(np.array(stamps, np.int64), np.array(keys, np.int64), np.array(ids, np.int32))


def joined(runs: Sequence[RowColumns]) -> RowColumns:
    """The rows of all, one behind the other."""
    if len(runs) < 2:
        return runs[0] if runs else EMPTY
    stamps, keys, ids = zip(*runs, strict=True)
    return RowColumns(np.concatenate(stamps), np.concatenate(keys), np.concatenate(ids))
