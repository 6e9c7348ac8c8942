"""Search through the rows of a table for a text, in bounded steps between which the screen goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from textual.timer import Timer
from textual.widgets import Label

from widgets.call_after import call_after
from widgets.lists.tail_table import TailTable
from widgets.number_format import grouped
from widgets.safe_content import safe_content

_STEP: Final = 0.012
"""Seconds that one step may take."""


class RowSearch:
    """Search that moves the cursor of a table, and tells in a label where it is."""

    def __init__(self, told: Label) -> None:
        self.why_none: Callable[[str], str] = lambda _: ""
        """Says why a text can't be found, where that is known."""
        self._told = told
        self._timer: Timer | None = None

    def start(self, table: TailTable, text: str, start: int, direction: int) -> None:
        """Go to the next row with a text, from row `start` on; ends a search before."""
        self.stop()
        self._step(table, text, start, direction)

    def stop(self) -> None:
        """End the search."""
        self._told.update("")
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _step(self, table: TailTable, text: str, start: int, direction: int) -> None:
        found = table.source.find(text, start, direction, _STEP)
        if not found.done:
            self._told.update(f"at {grouped(found.next)}")
            soon = 0.001 if found.next != start else 0.05  # rows that are not there yet can't be searched
            self._timer = call_after(table, soon, lambda: self._step(table, text, found.next, direction))
        elif found.seq is None:
            none = "none before" if direction < 0 else "none after"
            self._told.update(safe_content(self.why_none(text) or none))
        else:
            self._told.update("")
            table.go_to(found.seq)
