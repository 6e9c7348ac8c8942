"""Let kernel stacks pass a filter with their events: the `stacktrace` trigger writes each behind its event."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from events.stack import STACK

if TYPE_CHECKING:
    from events.columns import Columns, Ints, Mask
    from events.store import Store

_FAR = 4096
"""Rows of all CPUs in which the event of a stack is looked for."""


def with_stacks(store: Store, columns: Columns, found: Mask, has: Callable[[Ints], Mask]) -> Mask:
    """Return which rows pass, where stacks do as the event before them on their CPU.

    Args:
        store: the rows.
        columns: the rows that are looked at.
        found: those that the filter's condition holds of.
        has: whether earlier rows pass.
    """
    is_stack = np.zeros(len(columns), np.bool_)
    for table in columns.tables.values():
        if table.layout.format.path == STACK:
            is_stack[table.places] = True
    if not is_stack.any():
        return found
    cpus = columns.cpus.take(columns.slabs)
    order = np.argsort(cpus, kind="stable")
    places = np.where(is_stack[order], -1, np.arange(len(order)))
    before = np.maximum.accumulate(places)
    carrier = np.where(before >= 0, order[before], -1)
    carrier[(before >= 0) & (cpus[carrier] != cpus[order])] = -1
    stacks = is_stack[order]
    passing = found.copy()
    passing[order[stacks]] = (carrier[stacks] >= 0) & found[carrier[stacks]]
    for place in order[stacks & (carrier < 0)].tolist():  # at most a few: the first of each CPU
        passing[place] = _passes_before(store, columns.first, int(cpus[place]), has)
    return passing


def _passes_before(store: Store, seq: int, cpu: int, has: Callable[[Ints], Mask]) -> bool:
    """Return whether the last event of a CPU before a row passes."""
    for earlier in range(seq - 1, max(store.first_seq, seq - _FAR) - 1, -1):
        row = store.row(earlier)
        if row.cpu == cpu and store.event(row.id) != STACK:
            return bool(has(np.array([earlier], np.int64))[0])
    return False
