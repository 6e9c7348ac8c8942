"""Widths of a table's columns: they grow with the cells seen so far, and shrink on a narrow screen. Imports no screen
code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from widgets.safe_text import width

_NUMBER: Final = re.compile(r"[-+]?(0x[0-9a-f]+|[\d,]+(\.\d+)?( [num]?s)?)$")
_WIDEST: Final = 40
"""Width that a text column asks for at most; a longer text gets what no column asks for."""
_NARROWEST: Final = 8
_READABLE: Final = 20
"""Width that a text keeps if a row is wider than the screen in any case."""
_GAP: Final = 2
ASCENDING: Final = "▲"
DESCENDING: Final = "▼"
"""Signs behind the title of the column that rows are sorted by."""
WHOLE: Final = _WIDEST
"""Width of a text column that is never cut."""


class TableColumns:
    """Titles and widths of columns; call `see` with cells before they are drawn."""

    def __init__(self, titles: Sequence[str], least: Mapping[int, int] | None = None) -> None:
        """Set the titles; `least`: minimum widths of some text columns when others shrink."""
        self._least = {n: max(width(title), _NARROWEST) for n, title in enumerate(titles)} | dict(least or {})
        self.titles = tuple(titles)
        self._natural = [width(title) for title in titles]
        self._longest = list(self._natural)
        """Width of the widest cell of each column."""
        self._right = [True] * len(titles)
        """True for columns that only had numbers so far: they are right-aligned."""
        self._seen = [False] * len(titles)
        self._layout: tuple[int, list[int]] | None = None
        self._order: tuple[int, bool] | None = None

    @property
    def order(self) -> tuple[int, bool] | None:
        """Column that the rows are sorted by, and True for the largest first; None: its heading has no arrow."""
        return self._order

    @order.setter
    def order(self, order: tuple[int, bool] | None) -> None:
        if order != self._order:
            self._order, self._layout = order, None
            if order is not None:
                self._natural[order[0]] = max(self._natural[order[0]], width(self.heading(order[0])))

    def heading(self, column: int) -> str:
        """Return the title of a column; the one that the rows are sorted by has an arrow."""
        if self._order is None or self._order[0] != column:
            return self.titles[column]
        return f"{self.titles[column]} {DESCENDING if self._order[1] else ASCENDING}"

    def see(self, cells: Sequence[str]) -> bool:
        """Widen columns for the cells of a row; return True if the layout changed."""
        changed = False
        for n, cell in enumerate(cells):
            longest = width(cell)
            size = min(longest, _WIDEST)
            if longest > self._longest[n]:
                self._longest[n] = longest
                changed = True
            if size > self._natural[n]:
                self._natural[n] = size
                changed = True
            if cell and self._right[n] and not _NUMBER.match(cell):
                self._right[n] = False
                changed = True
            if cell and not self._seen[n]:
                self._seen[n] = changed = True
        if changed:
            self._layout = None
        return changed

    def right(self, column: int) -> bool:
        """Return True if the column only has numbers."""
        return self._right[column] and self._seen[column]

    def widths(self, available: int) -> list[int]:
        """Return the width of each column without gaps: texts shrink first, numbers are never cut."""
        if self._layout is None or self._layout[0] != available:
            self._layout = available, self._fit(available - _GAP * (len(self.titles) - 1))
        return self._layout[1]

    def at(self, x: int, available: int) -> int | None:
        """Return the column at a place of the row, counted from 0; the blank behind a column is part of it."""
        after = 0
        for n, size in enumerate(self.widths(available)):
            after += size + _GAP
            if 0 <= x < after:
                return n
        return None

    def total(self, available: int) -> int:
        """Return the columns that a row takes with its gaps; may exceed `available`."""
        return sum(self.widths(available)) + _GAP * (len(self.titles) - 1)

    def _fit(self, room: int) -> list[int]:
        widths = list(self._natural)
        texts = [n for n in range(len(widths)) if not self.right(n)]
        least = dict(self._least)
        if self._order is not None:  # else a narrow column would hide the arrow
            least[self._order[0]] = max(least[self._order[0]], width(self.heading(self._order[0])))
        excess = sum(widths) - room
        while excess > 0:
            wide = [n for n in texts if widths[n] > least[n]]
            if not wide:
                break
            widths[max(wide, key=lambda n: widths[n])] -= 1
            excess -= 1
        for n in texts if excess < 0 else ():
            more = max(0, min(self._longest[n] - widths[n], -excess))
            widths[n] += more
            excess += more
        if excess > 0:  # the row scrolls sideways in any case: unreadably short texts gain nothing
            return [min(size, max(_READABLE, widths[n])) for n, size in enumerate(self._natural)]
        return widths
