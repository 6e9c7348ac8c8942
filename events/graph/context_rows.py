"""Rows of a call tree that are in no call: interrupts of a task that nobody traces just then."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from events.graph.begin_end_columns import Ints, Mask, RowKind
from events.graph.call_columns import CallColumns


class OutsideCalls(NamedTuple):
    """Interrupts and times off the CPU in no call, as far as some rows tell."""

    idle: Mask
    """For each of the rows, whether it is one with neither a call nor an event in it."""
    busy: Ints
    """Interrupts in no call with a call or an event of those rows in them; they may be older."""


def outside_calls(columns: CallColumns, start: int, stop: int) -> OutsideCalls:
    """Return what of the rows from `start` to before `stop` is in no call; a dropped parent counts as a call."""
    first = columns.first
    what, parent = columns.column("what"), columns.column("parent")
    part = slice(start - first, stop - first)
    is_plain = (what[part] == RowKind.CALL) | (what[part] == RowKind.COMMENT)
    around = parent[part].copy()
    outside: Mask = around < 0
    pairs: list[tuple[Ints, Ints]] = []
    # Around what is in no call stand interrupts only, and few: a softirq, what interrupts it, an NMI.
    left = np.flatnonzero(around >= first)
    while len(left := left[what[around[left] - first] != RowKind.CALL]):
        up = around[left]
        pairs.append((left[is_plain[left]], up[is_plain[left]]))
        around[left] = parent[up - first]
        outside[left] = around[left] < 0
        left = left[around[left] >= first]
    found = [up[outside[rows]] for rows, up in pairs]
    busy = np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)
    idle = outside & ~is_plain
    idle[busy[busy >= start] - start] = False
    return OutsideCalls(idle, busy)
