"""Where the time went: calls, total, own time and percentiles by function."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.graph.begin_end_columns import Ints, Mask, RowKind
from events.graph.tree import CallRowFlag, CallTree
from events.summary.distribution import rank, rounded


class HotSpot(NamedTuple):
    """One function; times in nanoseconds."""

    function: int
    """Its address."""
    calls: int
    """Those that are kept of which both ends were seen, or whose end says how long it took."""
    total: int
    """Of all of them. A call inside of a call of the same function counts in both."""
    own: int
    """What was not spent in the calls, interrupts and softirqs inside, of the calls whose entry was seen."""
    p50: int
    """Half of the calls took no longer; as precise as `events.summary.distribution.Distribution.quantile`."""
    p99: int
    """99 of 100 took no longer."""
    longest: int
    failed: int
    """Calls that returned an error."""


class CallTimes(NamedTuple):
    """What is counted, a row a call; copied out of a tree, so that another thread may count."""

    function: NDArray[np.uint64]
    duration: Ints
    own: Ints
    failed: NDArray[np.bool_]


def spent(tree: CallTree, task: int | None = None, passing: Mask | None = None) -> CallTimes:
    """Return the calls that a tree has kept of which it is known how long they took.

    How many more there were says `CallTree.left_out`.

    Args:
        tree: all calls.
        task: thread id of the only task that counts; None: all do.
        passing: which of the kept rows pass the filter; None: all do.
    """
    columns = tree.columns
    duration = columns.column("duration")
    wanted = (columns.column("what") == RowKind.CALL) & (duration >= 0)
    if task is not None:
        wanted &= columns.column("task") == task
    if passing is not None:
        wanted &= passing
    took = duration[wanted]
    flags = columns.column("flags")[wanted]
    own = np.maximum(took - columns.column("inside")[wanted], 0)
    own[(flags & CallRowFlag.NO_ENTRY) != 0] = 0  # what was inside of it was not seen either
    return CallTimes(columns.column("function")[wanted], took, own, (flags & CallRowFlag.FAILED) != 0)


def hot_spots(calls: CallTimes) -> list[HotSpot]:
    """By function, the one that took most time by itself first. 1,000,000 calls take some 0.2 s."""
    if not len(calls.function):
        return []
    order = np.lexsort((calls.duration, calls.function))
    function, duration = calls.function[order], calls.duration[order]
    starts = np.flatnonzero(np.append(True, function[1:] != function[:-1]))
    counts = np.diff(np.append(starts, len(function)))
    totals, own = np.add.reduceat(duration, starts), np.add.reduceat(calls.own[order], starts)
    failed = np.add.reduceat(calls.failed[order].astype(np.int64), starts)
    longest = duration[starts + counts - 1].tolist()
    half, most = (
        [
            min(rounded(int(duration[start + rank(count, part) - 1])), top)
            for start, count, top in zip(starts.tolist(), counts.tolist(), longest, strict=True)
        ]
        for part in (50, 99)
    )
    columns = (*(column.tolist() for column in (function[starts], counts, totals, own)), half, most, longest)
    rows = [HotSpot(*row) for row in zip(*columns, failed.tolist(), strict=True)]
    return sorted(rows, key=lambda row: (-row.own, -row.total, row.function))
