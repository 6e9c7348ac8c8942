"""Looking for rows of a call graph, by columns: 1,000,000 rows take some 50 ms."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from events.graph.begin_end_columns import RowKind
from events.graph.tree import CallRowFlag, CallTree
from events.search.filtered_rows import FilteredRows

Wanting = Callable[[slice], NDArray[np.bool_]]
"""Which of some rows of the columns are wanted."""
NO_RESULT: Final = object()
"""For `returning`."""
_PIECE: Final = 1 << 15
_MOMENT: Final = 0.005
"""Seconds of a piece, of which the next one is made larger."""


def scan(
    tree: CallTree, wanted: Wanting, start: int, direction: int, budget: float = float("inf"), piece: int = _PIECE
) -> tuple[int | None, int]:
    """The nearest row that is wanted, from `start` on, and where to go on; about so many seconds are taken.

    `piece`: rows until the first look at the clock; after it as many as take a moment.
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
    """Calls of functions whose number or address is one; each is asked about once."""
    hit = lru_cache(maxsize=None)(decide)

    def wanted(part: slice) -> NDArray[np.bool_]:
        numbers, places = np.unique(tree.columns.column("function")[part], return_inverse=True)
        hits = np.array([hit(number) for number in numbers.tolist()], np.bool_)
        found: NDArray[np.bool_] = hits[places] & (tree.columns.column("what")[part] == RowKind.CALL)
        return found

    return wanted


def either(*some: Wanting) -> Wanting:
    """Rows that any of some want."""

    def wanted(part: slice) -> NDArray[np.bool_]:
        found = some[0](part)
        for one in some[1:]:
            found |= one(part)
        return found

    return wanted


def returning(tree: CallTree, key: Callable[[int], Hashable], hit: Callable[[int, int], bool]) -> Wanting:
    """Calls whose result reads as wanted; each is asked about once for all functions of one key.

    Args:
        tree: of the calls.
        key: of a function's number or address; `NO_RESULT`: no result of it is wanted.
        hit: whether a result of such a function is.
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
    """Calls of functions that may have what is wanted, of which one row's text has it."""
    possible = named(tree, may)

    def wanted(part: slice) -> NDArray[np.bool_]:
        found = possible(part)
        at = np.flatnonzero(found)
        found[at] = [hit(tree.first + part.start + place) for place in at.tolist()]
        return found

    return wanted


def slower(tree: CallTree, least: int, task: int | None) -> Wanting:
    """Calls that took at least so many nanoseconds, of one task or of all."""

    def wanted(part: slice) -> NDArray[np.bool_]:
        columns = tree.columns
        slow: NDArray[np.bool_] = columns.column("duration")[part] >= least
        slow &= columns.column("what")[part] == RowKind.CALL
        if task is not None:
            slow &= columns.column("task")[part] == task
        return slow

    return wanted


def passing_rows(tree: CallTree, chosen: FilteredRows) -> Wanting:
    """Rows of which the first or the last event passes the filter."""

    def wanted(part: slice) -> NDArray[np.bool_]:
        columns = tree.columns
        found: NDArray[np.bool_] = chosen.has(columns.column("seq")[part]) | chosen.has(columns.column("leave")[part])
        return found

    return wanted
