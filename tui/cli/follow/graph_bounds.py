"""Apply `--depth` and `--slower` to the rows of a recorded call graph, as the tracer would while recording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from events.graph.tree import CallRow


class GraphBounds:
    """Limits of depth and duration for the rows printed of a call."""

    def __init__(self, levels: int, least: int) -> None:
        """Set the deepest level of nested calls (0: any) and the shortest duration in nanoseconds."""
        self._levels = levels
        self._least = least

    def is_short(self, row: CallRow) -> bool:
        """Return True if a call, or an interrupt, is known to have taken less than the shortest duration."""
        from events.graph.begin_end_columns import RowKind

        return row.kind <= RowKind.SOFTIRQ and 0 <= row.duration < self._least

    def of(self, rows: Iterable[CallRow]) -> Iterator[CallRow]:
        """Yield the remaining rows, each with its level among them.

        A long enough call may be inside one that was too short: an interrupt between the end of a call and the event
        that reports it. Of a call that is too deep, switches and other events remain: the tracer records them at any
        depth (max_graph_depth limits calls).

        Args:
            rows: rows of one task, in the order in which they began.
        """
        from events.graph.begin_end_columns import RowKind

        if not self._levels and not self._least:
            yield from rows
            return
        around: list[tuple[CallRow, bool]] = []
        for row in rows:
            while around and around[-1][0].after <= row.row:
                around.pop()
            is_call = row.kind == RowKind.CALL
            calls = sum(one.kind == RowKind.CALL for one, _ in around)
            is_left = not self.is_short(row) and not (is_call and 0 < self._levels <= calls)
            if row.kind > RowKind.SOFTIRQ and around:
                is_left = not self.is_short(around[-1][0])
            if is_left:
                hidden = sum(not left for _, left in around)
                yield replace(row, level=row.level - hidden) if hidden else row
            around.append((row, is_left))
