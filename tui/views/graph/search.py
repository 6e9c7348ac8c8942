"""Search rows of a call graph by columns: 1,000,000 rows take some 50 ms."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from functools import cache, lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from events.clocks.boots import Boots
from events.graph.begin_end_columns import RowKind
from events.graph.tree import CallRowFlag, CallTree
from events.search.filtered_rows import FilteredRows

Wanting = Callable[[slice], NDArray[np.bool_]]
"""Maps a slice of the columns to a boolean mask of the matching rows."""
NO_RESULT: Final = object()
"""Key for `returning` of a function whose results can't match."""
_PIECE: Final = 1 << 15
_MOMENT: Final = 0.005
"""Seconds that one piece should take; the size of the next piece is adapted to it."""


def scan(
    tree: CallTree, wanted: Wanting, start: int, direction: int, budget: float = float("inf"), piece: int = _PIECE
) -> tuple[int | None, int]:
    """Return the nearest matching row from `start` on, or None, and the row to go on at; takes about `budget`
    seconds.

    `piece`: rows until the first check of the clock; later pieces take about `_MOMENT`.
    """
    before = time.monotonic()
    deadline = before + budget
    at = max(start, tree.first) if direction > 0 else min(start, tree.next - 1)
    while tree.first <= at < tree.next:
        low = at if direction > 0 else max(at - piece + 1, tree.first)
        high = min(at + piece, tree.next) if direction > 0 else at + 1
        hits = np.flatnonzero(wanted(slice(low - tree.first, high - tree.first)))
        if len(hits):
            return low + int(hits[0 if direction > 0 else -1]), at
        at = high if direction > 0 else low - 1
        now = time.monotonic()
        if now >= deadline:
            break
        piece = min(2 * piece, _PIECE) if now - before < _MOMENT else max(piece // 2, 1)
        before = now
    return None, at


def named(tree: CallTree, decide: Callable[[int], bool]) -> Wanting:
    """Match calls by their function's number or address; `decide` is called once for each."""
    hit = lru_cache(maxsize=None)(decide)

    def wanted(part: slice) -> NDArray[np.bool_]:
        numbers, places = np.unique(tree.columns.column("function")[part], return_inverse=True)
        hits = np.array([hit(number) for number in numbers.tolist()], np.bool_)
        found: NDArray[np.bool_] = hits[places] & (tree.columns.column("kind")[part] == RowKind.CALL)
        return found

    return wanted


def by_boot(tree: CallTree, boots: Boots, make: Callable[[int], Wanting]) -> Wanting:
    """Match rows by a condition that depends on the boot in which they were recorded; `make` returns that of one."""
    condition = cache(make)

    def wanted(part: slice) -> NDArray[np.bool_]:
        of_rows = boots.of_rows(tree.columns.column("seq")[part])
        found = np.zeros(len(of_rows), np.bool_)
        for boot in np.unique(of_rows).tolist():
            found |= condition(boot)(part) & (of_rows == boot)
        return found

    return wanted


def either(*conditions: Wanting) -> Wanting:
    """Match rows that any of some conditions matches."""

    def wanted(part: slice) -> NDArray[np.bool_]:
        found = conditions[0](part)
        for condition in conditions[1:]:
            found |= condition(part)
        return found

    return wanted


def returning(tree: CallTree, key: Callable[[int], Hashable], hit: Callable[[int, int], bool]) -> Wanting:
    """Match calls by their result; `hit` is called once for all functions with one key and result.

    Args:
        tree: tree of the calls.
        key: returns the key of a function's number or address; `NO_RESULT`: none of its results matches.
        hit: returns True if a result of such a function matches.
    """
    known: dict[tuple[Hashable, int], bool] = {}
    possible = named(tree, lambda number: key(number) is not NO_RESULT)

    def is_hit(function: int, result: int) -> bool:
        pair = key(function), result
        if pair not in known:
            known[pair] = hit(function, result)
        return known[pair]

    def wanted(part: slice) -> NDArray[np.bool_]:
        functions, results, flags = (tree.columns.column(name)[part] for name in ("function", "retval", "flags"))
        found: NDArray[np.bool_] = possible(part) & ((flags & CallRowFlag.RETVAL) != 0)
        at = np.flatnonzero(found)
        found[at] = [is_hit(*pair) for pair in zip(functions[at].tolist(), results[at].tolist(), strict=True)]
        return found

    return wanted


def reading(tree: CallTree, may: Callable[[int], bool], hit: Callable[[int], bool]) -> Wanting:
    """Match calls by the text of their row, which is read only for functions that `may` match."""
    possible = named(tree, may)

    def wanted(part: slice) -> NDArray[np.bool_]:
        found = possible(part)
        at = np.flatnonzero(found)
        found[at] = [hit(tree.first + part.start + place) for place in at.tolist()]
        return found

    return wanted


def slower(tree: CallTree, least: int, task: int | None) -> Wanting:
    """Match calls that took at least `least` nanoseconds, of one task or of all."""

    def wanted(part: slice) -> NDArray[np.bool_]:
        columns = tree.columns
        slow: NDArray[np.bool_] = columns.column("duration")[part] >= least
        slow &= columns.column("kind")[part] == RowKind.CALL
        if task is not None:
            slow &= columns.column("task")[part] == task
        return slow

    return wanted


def passing_rows(tree: CallTree, chosen: FilteredRows) -> Wanting:
    """Match rows whose first or last event passes the filter."""

    def wanted(part: slice) -> NDArray[np.bool_]:
        columns = tree.columns
        found: NDArray[np.bool_] = chosen.has(columns.column("seq")[part]) | chosen.has(columns.column("leave")[part])
        return found

    return wanted
