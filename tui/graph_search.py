"""Looking for rows of a call graph, by columns: 1,000,000 rows take some 50 ms."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from events.graph.brackets import What
from events.graph.tree import CallTree
from events.selected import Selected

Wanting = Callable[[slice], NDArray[np.bool_]]
"""Which of some rows of the columns are wanted."""
_PIECE: Final = 1 << 15


def scan(
    tree: CallTree, wanted: Wanting, start: int, direction: int, budget: float = float("inf"), piece: int = _PIECE
) -> tuple[int | None, int]:
    """The nearest row that is wanted, from `start` on, and where to go on; about so many seconds are taken.

    `piece`: rows between two looks at the clock.
    """
    deadline = time.monotonic() + budget
    at = max(start, tree.first) if direction > 0 else min(start, tree.next - 1)
    while tree.first <= at < tree.next:
        low = at if direction > 0 else max(at - piece + 1, tree.first)
        high = min(at + piece, tree.next) if direction > 0 else at + 1
        hits = np.flatnonzero(wanted(slice(low - tree.first, high - tree.first)))
        if len(hits):
            return low + int(hits[0 if direction > 0 else -1]), at
        at = high if direction > 0 else low - 1
        if time.monotonic() >= deadline:
            break
    return None, at


def named(tree: CallTree, hit: Callable[[int], bool]) -> Wanting:
    """Calls of functions whose number or address is one."""

    def wanted(part: slice) -> NDArray[np.bool_]:
        numbers, places = np.unique(tree.columns.column("function")[part], return_inverse=True)
        hits = np.array([hit(number) for number in numbers.tolist()], np.bool_)
        found: NDArray[np.bool_] = hits[places] & (tree.columns.column("what")[part] == What.CALL)
        return found

    return wanted


def shown(tree: CallTree, hit: Callable[[int], bool], others: Wanting) -> Wanting:
    """Calls of which one row's text is wanted, and those that others find quicker."""

    def wanted(part: slice) -> NDArray[np.bool_]:
        found = others(part)
        calls = tree.columns.column("what")[part] == What.CALL
        for at in np.flatnonzero(calls & ~found).tolist():
            found[at] = hit(tree.first + part.start + at)
        return found

    return wanted


def slower(tree: CallTree, least: int, task: int | None) -> Wanting:
    """Calls that took at least so many nanoseconds, of one task or of all."""

    def wanted(part: slice) -> NDArray[np.bool_]:
        columns = tree.columns
        slow: NDArray[np.bool_] = columns.column("duration")[part] >= least
        slow &= columns.column("what")[part] == What.CALL
        if task is not None:
            slow &= columns.column("task")[part] == task
        return slow

    return wanted


def passing_rows(tree: CallTree, chosen: Selected) -> Wanting:
    """Rows of which the first or the last event passes the filter."""

    def wanted(part: slice) -> NDArray[np.bool_]:
        columns = tree.columns
        found: NDArray[np.bool_] = chosen.has(columns.column("seq")[part]) | chosen.has(columns.column("leave")[part])
        return found

    return wanted
