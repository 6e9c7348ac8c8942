"""Begins and ends of calls out of our own probes at entry and exit, for the tree that the tracer's events make too.

Which are a pair is what `events.calls.call_matching` says, as everywhere; how deep a call is, its stack pointer says.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from events.calls.call_ends import CallEnds
from events.calls.call_matching import FinishedCalls
from events.graph.begin_end_columns import BeginEndColumns, Edge, RowKind


def of_pairs(ends: CallEnds, ended: Sequence[FinishedCalls]) -> BeginEndColumns:
    """Return ends in the order of time; `function` is the number of the probe.

    Args:
        ends: those of some rows.
        ended: the calls that these rows show to be over. An exit without one there is an end without a begin.
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
        _proofs(ends, ended),
        np.full(size, -1, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.bool_),
    )


def _proofs(ends: CallEnds, ended: Sequence[FinishedCalls]) -> NDArray[np.uint64]:
    """Return a number that only the two ends of a pair have in common: the row of its entry."""
    entry = np.where(ends.at_exit, -1 - ends.seqs, ends.seqs)
    for pairs in ended:
        at = np.searchsorted(ends.seqs, pairs.exits)
        there = at < len(ends.seqs)
        there[there] = ends.seqs[at[there]] == pairs.exits[there]
        entry[at[there]] = pairs.entries[there]
    return entry.view(np.uint64)
