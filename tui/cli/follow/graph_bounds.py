"""Rows of a recorded call graph that `--depth` and `--slower` leave: those that the tracer would record with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from events.graph.tree import CallRow


class GraphBounds:
    """Bounds of what is printed of a call with all that is inside."""

    def __init__(self, levels: int, least: int) -> None:
        """Take the most calls that are within one another, 0: any, and nanoseconds of the shortest call."""
        self._levels = levels
        self._least = least

    def is_short(self, row: CallRow) -> bool:
        """Return whether a call, or an interrupt, is known to have taken less."""
        from events.graph.begin_end_columns import RowKind

        return row.what <= RowKind.SOFTIRQ and 0 <= row.duration < self._least

    def of(self, rows: Iterable[CallRow]) -> Iterator[CallRow]:
        """Yield those that are left, at the level that they have then.

        A call that is long enough may be in one that was too short: an interrupt between the end of a call and the
        event that tells of it. Of a call that is too deep switches and other events are left: the tracer records them
        at any depth (max_graph_depth is of calls).

        Args:
            rows: of one task, in the order in which they began.
        """
        from events.graph.begin_end_columns import RowKind

        if not self._levels and not self._least:
            yield from rows
            return
        around: list[tuple[CallRow, bool]] = []
        for row in rows:
            while around and around[-1][0].after <= row.row:
                around.pop()
            is_call = row.what == RowKind.CALL
            calls = sum(one.what == RowKind.CALL for one, _ in around)
            is_left = not self.is_short(row) and not (is_call and 0 < self._levels <= calls)
            if row.what > RowKind.SOFTIRQ and around:
                is_left = not self.is_short(around[-1][0])
            if is_left:
                hidden = sum(not left for _, left in around)
                yield replace(row, level=row.level - hidden) if hidden else row
            around.append((row, is_left))
