"""Compute calls, total time, own time and percentiles by the name of the function, whichever its address."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.clocks.boots import Boots
from events.graph.begin_end_columns import Ints, Mask, RowKind
from events.graph.tree import CallRowFlag, CallTree
from events.summary.distribution import quantile_of, rank

TitleOf = Callable[[int, int], tuple[str, int]]
"""Function that returns the name of a row's `function` in a boot, and the number of the probe that it is of."""


class HotSpot(NamedTuple):
    """Statistics of one function; times in nanoseconds."""

    function: str
    """Name of the function."""
    calls: int
    """Number of retained calls with both ends, or with an exit that has the duration."""
    total: int
    """Sum of the durations. A call inside a call of the same function counts in both."""
    self_time: int
    """Time outside the enclosed calls, interrupts and softirqs, for calls whose entry was recorded."""
    p50: int
    """Median duration; as precise as `events.summary.distribution.Distribution.quantile`."""
    p99: int
    """99th percentile of the durations, of the same precision."""
    longest: int
    failed: int
    """Number of calls that returned an error."""


class CallTimes(NamedTuple):
    """Input of the statistics, one row per call; copied from a tree so that another thread can use it."""

    function: NDArray[np.uint64]
    boot: Ints
    """Boot in which each call was recorded."""
    duration: Ints
    self_time: Ints
    failed: NDArray[np.bool_]


def call_times(tree: CallTree, boots: Boots, task: int | None = None, passing: Mask | None = None) -> CallTimes:
    """Return the retained calls of a tree whose duration is known.

    `CallTree.dropped_calls` has the number of further calls.

    Args:
        tree: all calls.
        boots: boots of the events of the calls.
        task: thread id of the only task to include; None: all.
        passing: mask of the retained rows that pass the filter; None: all.
    """
    columns = tree.columns
    duration = columns.column("duration")
    wanted = (columns.column("kind") == RowKind.CALL) & (duration >= 0)
    if task is not None:
        wanted &= columns.column("task") == task
    if passing is not None:
        wanted &= passing
    took = duration[wanted]
    flags = columns.column("flags")[wanted]
    own = np.maximum(took - columns.column("inside")[wanted], 0)
    own[(flags & CallRowFlag.NO_ENTRY) != 0] = 0  # calls inside it were not recorded either
    boot = boots.of_rows(columns.column("seq")[wanted])
    return CallTimes(columns.column("function")[wanted], boot, took, own, (flags & CallRowFlag.FAILED) != 0)


def hot_spots(calls: CallTimes, title_of: TitleOf) -> list[HotSpot]:
    """Compute statistics by function, sorted by own time, descending. 1,000,000 calls take about 0.2 s."""
    if not len(calls.function):
        return []
    named, names = _numbered(calls, title_of)
    order = np.lexsort((calls.duration, named))
    function, duration = named[order], calls.duration[order]
    starts = np.flatnonzero(np.append(True, function[1:] != function[:-1]))
    counts = np.diff(np.append(starts, len(function)))
    totals, own = np.add.reduceat(duration, starts), np.add.reduceat(calls.self_time[order], starts)
    failed = np.add.reduceat(calls.failed[order].astype(np.int64), starts)
    longest = duration[starts + counts - 1].tolist()
    half, most = (
        [
            min(quantile_of(int(duration[start + rank(count, part) - 1])), top)
            for start, count, top in zip(starts.tolist(), counts.tolist(), longest, strict=True)
        ]
        for part in (50, 99)
    )
    shown = [names[one] for one in function[starts].tolist()]
    columns = (shown, *(column.tolist() for column in (counts, totals, own)), half, most, longest)
    rows = [HotSpot(*row) for row in zip(*columns, failed.tolist(), strict=True)]
    return sorted(rows, key=lambda row: (-row.self_time, -row.total, row.function))


def _numbered(calls: CallTimes, title_of: TitleOf) -> tuple[Ints, list[str]]:
    """Return the number of each call's function, and the names of the functions by number."""
    numbers: dict[tuple[str, int], int] = {}
    found = np.zeros(len(calls.function), np.int64)
    for boot in np.unique(calls.boot).tolist():
        own = calls.boot == boot
        functions, places = np.unique(calls.function[own], return_inverse=True)
        titles = [title_of(function, boot) for function in functions.tolist()]
        found[own] = np.array([numbers.setdefault(title, len(numbers)) for title in titles], np.int64)[places]
    return found, [name for name, _ in numbers]
