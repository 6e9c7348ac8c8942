"""Convert probe pairs at entry and exit to begins and ends of calls, for the same tree as the tracer's events.

`events.calls.call_matching` determines the pairs, as everywhere; the stack pointer is the measure of a call's depth.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from events.calls.call_ends import CallEnds
from events.calls.call_matching import FinishedCalls
from events.graph.begin_end_columns import BeginEndColumns, Edge, RowKind


def of_pairs(ends: CallEnds, finished: Sequence[FinishedCalls]) -> BeginEndColumns:
    """Return the ends in order of time; `function` is the probe number.

    Args:
        ends: ends of calls in some rows.
        finished: calls found with these rows. An exit that is not among them has no begin.
    """
    size = len(ends.seqs)
    return BeginEndColumns(
        ends.stamps,
        ends.seqs,
        ends.tasks.astype(np.int32),
        ends.cpus.astype(np.int16),
        np.where(ends.at_exit, Edge.END, Edge.BEGIN).astype(np.uint8),
        np.full(size, RowKind.CALL, np.uint8),
        ends.functions.astype(np.uint64),
        ends.frames,
        _proofs(ends, finished),
        np.full(size, -1, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.bool_),
    )


def _proofs(ends: CallEnds, finished: Sequence[FinishedCalls]) -> NDArray[np.uint64]:
    """Return a number that only the two ends of a pair share: the row of the entry."""
    entry = np.where(ends.at_exit, -1 - ends.seqs, ends.seqs)
    for pairs in finished:
        at = np.searchsorted(ends.seqs, pairs.exits)
        present = at < len(ends.seqs)
        present[present] = ends.seqs[at[present]] == pairs.exits[present]
        entry[at[present]] = pairs.entries[present]
    return entry.view(np.uint64)
