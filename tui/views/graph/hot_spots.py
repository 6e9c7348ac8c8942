"""Count the time of functions in a tree of calls; a thread works on copied columns."""

from __future__ import annotations

import threading
import time
from typing import Final

from events.graph.hot_spots import CallTimes, HotSpot, call_times, hot_spots
from events.graph.tree import CallTree
from events.search.filtered_rows import FilteredRows
from tui.views.graph.search import passing_rows

_EVERY: Final = 1.0
"""Seconds between the beginnings of two counts."""


class HotSpots:
    """Background count of hot spots, one at a time."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._counted: list[HotSpot] | None = None
        self._input: tuple[CallTree, int, int | None, FilteredRows | None] | None = None
        self._begun_at = 0.0

    def ask(self, tree: CallTree, task: int | None, chosen: FilteredRows | None = None) -> bool:
        """Start a count of a task's passing calls if something changed; return True while a count runs or is due."""
        if self._thread is not None and self._thread.is_alive():
            return True
        if chosen is not None and chosen.backlog:
            return True
        input_ = tree, tree.closed, task, chosen
        if input_ == self._input:
            return False
        same = self._input is not None and self._input[0] is tree and self._input[2:] == input_[2:]
        if same and time.monotonic() - self._begun_at < _EVERY:
            return True
        self._input, self._begun_at = input_, time.monotonic()
        passing = passing_rows(tree, chosen)(slice(None)) if chosen is not None else None
        counted = call_times(tree, task, passing)
        self._thread = threading.Thread(target=self._count, args=(counted,), daemon=True, name="hot spots")
        self._thread.start()
        return True

    def take(self) -> list[HotSpot] | None:
        """Return the count finished since the last call; None: none was."""
        counted, self._counted = self._counted, None
        return counted

    def _count(self, calls: CallTimes) -> None:
        self._counted = hot_spots(calls)
