"""Counts where the time of a tree of calls went, beside the screen: a thread works on columns that were copied."""

from __future__ import annotations

import threading
import time
from typing import Final

from events.graph.hot_spots import CallTimes, HotSpot, hot_spots, spent
from events.graph.tree import CallTree
from events.search.filtered_rows import FilteredRows
from tui.views.graph.search import passing_rows

_EVERY: Final = 1.0
"""Seconds between the beginnings of two counts."""


class HotSpots:
    """One count at a time."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._counted: list[HotSpot] | None = None
        self._asked: tuple[CallTree, int, int | None, FilteredRows | None] | None = None
        self._at = 0.0

    def ask(self, tree: CallTree, task: int | None, chosen: FilteredRows | None = None) -> bool:
        """Count the calls of a task that pass, where something changed; whether a count is under way, or due."""
        if self._thread is not None and self._thread.is_alive():
            return True
        if chosen is not None and chosen.behind:
            return True
        asked = tree, tree.closed, task, chosen
        if asked == self._asked:
            return False
        same = self._asked is not None and self._asked[0] is tree and self._asked[2:] == asked[2:]
        if same and time.monotonic() - self._at < _EVERY:
            return True
        self._asked, self._at = asked, time.monotonic()
        passing = passing_rows(tree, chosen)(slice(None)) if chosen is not None else None
        counted = spent(tree, task, passing)
        self._thread = threading.Thread(target=self._count, args=(counted,), daemon=True, name="hot spots")
        self._thread.start()
        return True

    def take(self) -> list[HotSpot] | None:
        """What was counted since this was last asked."""
        counted, self._counted = self._counted, None
        return counted

    def _count(self, calls: CallTimes) -> None:
        self._counted = hot_spots(calls)
