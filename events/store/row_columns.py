"""Represent rows as columns, for the index, the merge and the blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class RowColumns(NamedTuple):
    """Rows, one array per column."""

    stamps: NDArray[np.int64]
    """Time stamps."""
    keys: NDArray[np.int64]
    """Slab number and word offset of each event; see `events.subbuffer.WORD_BITS`."""
    ids: NDArray[np.int32]
    """Format ids."""

    def part(self, start: int, stop: int) -> RowColumns:
        """Return a view of the rows from `start` to before `stop`."""
        return RowColumns(self.stamps[start:stop], self.keys[start:stop], self.ids[start:stop])

    def of(self, selection: NDArray[np.bool_] | NDArray[np.intp]) -> RowColumns:
        """Return the rows selected by a mask, or by positions in that order."""
        return RowColumns(self.stamps[selection], self.keys[selection], self.ids[selection])


EMPTY = RowColumns(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32))


def rows_from_lists(stamps: Sequence[int], keys: Sequence[int], ids: Sequence[int]) -> RowColumns:
    """Return rows made of lists."""
    return RowColumns(np.array(stamps, np.int64), np.array(keys, np.int64), np.array(ids, np.int32))


def concatenate_rows(runs: Sequence[RowColumns]) -> RowColumns:
    """Return the rows of all runs, concatenated."""
    if len(runs) < 2:
        return runs[0] if runs else EMPTY
    stamps, keys, ids = zip(*runs, strict=True)
    return RowColumns(np.concatenate(stamps), np.concatenate(keys), np.concatenate(ids))
