"""Count the time of functions in a tree of calls; a thread works on copied columns."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from events.graph.hot_spots import CallTimes, HotSpot, TitleOf, call_times, hot_spots
from events.graph.tree import CallTree
from events.search.filtered_rows import FilteredRows
from tui.views.graph.search import passing_rows

if TYPE_CHECKING:
    from tui.views.graph.model import GraphModel

_EVERY: Final = 1.0
"""Seconds between the beginnings of two counts."""


class HotSpots:
    """Background count of hot spots, one at a time."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._counted: list[HotSpot] | None = None
        self._input: tuple[CallTree, int, int | None, FilteredRows | None] | None = None
        self._begun_at = 0.0
        self._has_old_names = False

    def ask(self, shown: GraphModel) -> bool:
        """Start a count of the passing calls that a model shows if something changed; return True while a count runs
        or is due.
        """
        tree, task, chosen = shown.tree, shown.visible.options.task, shown.chosen
        if self._thread is not None and self._thread.is_alive():
            return True
        if chosen is not None and chosen.backlog:
            return True
        input_ = tree, tree.closed, task, chosen
        if input_ == self._input and not self._has_old_names:
            return False
        same = self._input is not None and self._input[0] is tree and self._input[2:] == input_[2:]
        if same and time.monotonic() - self._begun_at < _EVERY:
            return True
        self._input, self._begun_at, self._has_old_names = input_, time.monotonic(), False
        passing = passing_rows(tree, chosen)(slice(None)) if chosen is not None else None
        counted = call_times(tree, shown.store.boots, task, passing)
        self._thread = threading.Thread(
            target=self._count, args=(counted, shown.lines.title_of), daemon=True, name="hot spots"
        )
        self._thread.start()
        return True

    def forget(self) -> None:
        """Count again when asked, as functions have other names now."""
        self._has_old_names = True

    def take(self) -> list[HotSpot] | None:
        """Return the count finished since the last call; None: none was."""
        counted, self._counted = self._counted, None
        return counted

    def _count(self, calls: CallTimes, title_of: TitleOf) -> None:
        self._counted = hot_spots(calls, title_of)
