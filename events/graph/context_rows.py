"""Find rows of a call tree outside any call: interrupts of a task that is not being traced at that time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from events.graph.begin_end_columns import Ints, Mask, RowKind
from events.graph.call_columns import CallColumns


class OutsideCalls(NamedTuple):
    """Interrupts and times off the CPU outside any call, within a range of rows."""

    idle: Mask
    """Mask of the range: True for rows outside any call that contain neither a call nor an event."""
    busy: Ints
    """Rows outside any call that contain a call or an event of the range; they may precede it."""


def outside_calls(columns: CallColumns, start: int, stop: int) -> OutsideCalls:
    """Return the rows from `start` to before `stop` that are outside any call; a dropped parent counts as a call."""
    first = columns.first
    what, parent = columns.column("kind"), columns.column("parent")
    part = slice(start - first, stop - first)
    is_plain = (what[part] == RowKind.CALL) | (what[part] == RowKind.COMMENT)
    parents = parent[part].copy()
    outside: Mask = parents < 0
    pairs: list[tuple[Ints, Ints]] = []
    # Rows outside any call are enclosed by few interrupts only: a softirq, an interrupt within it, an NMI.
    pending = np.flatnonzero(parents >= first)
    while len(pending := pending[what[parents[pending] - first] != RowKind.CALL]):
        up = parents[pending]
        pairs.append((pending[is_plain[pending]], up[is_plain[pending]]))
        parents[pending] = parent[up - first]
        outside[pending] = parents[pending] < 0
        pending = pending[parents[pending] >= first]
    found = [up[outside[rows]] for rows, up in pairs]
    busy = np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)
    idle = outside & ~is_plain
    idle[busy[busy >= start] - start] = False
    return OutsideCalls(idle, busy)
