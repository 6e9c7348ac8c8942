"""Begins and ends of calls out of our own probes at entry and exit, for the tree that the tracer's events make too.

The proof is that of `events.pairing`; how deep a call is, its stack pointer says.
"""

from __future__ import annotations

import numpy as np

from events.call_ends import Ends
from events.graph.brackets import Brackets, Edge, What


def of_pairs(ends: Ends) -> Brackets:
    """`function` is the number of the probe."""
    size = len(ends.seqs)
    return Brackets(
        ends.stamps,
        ends.seqs,
        ends.tasks.astype(np.int32),
        ends.cpus.astype(np.int16),
        np.where(ends.at_exit, Edge.END, Edge.BEGIN).astype(np.uint8),
        np.full(size, What.CALL, np.uint8),
        ends.functions.astype(np.uint64),
        ends.frames,
        ends.proofs,
        np.full(size, -1, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.bool_),
    )
