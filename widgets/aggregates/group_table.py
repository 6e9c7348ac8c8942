"""Groups of events by key, as rows of a table with a bar."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final, NamedTuple

from textual.binding import Binding, BindingType
from textual.message import Message

from widgets.columns import TableColumns
from widgets.highlight import highlighted
from widgets.lists.top_table import TopTable
from widgets.number_format import bar
from widgets.rows import Piece
from widgets.safe_text import fit

_BAR, _LONGEST_BAR = 12, 60
_NARROWEST: Final = 10
"""Width that a key keeps where the screen is narrow."""


class GroupCells(NamedTuple):
    """Row of the table."""

    cells: tuple[str, ...]
    """Texts of the columns, safe for the screen."""
    share: float
    """Part of the bar, from 0 to 1."""
    is_others: bool = False
    """True for the sum of the groups that have no row."""


class GroupFound(NamedTuple):
    """Step of a search, see `widgets.lists.table_rows.FoundRow`."""

    seq: int | None
    next: int
    done: bool = True


class GroupRows:
    """Rows of a `TopTable`."""

    first = 0

    def __init__(
        self,
        titles: Sequence[str] = (),
        keys: int = 0,
        groups: Sequence[GroupCells] = (),
        *,
        sortable: int | None = None,
    ) -> None:
        """Set the titles of the columns, of which the first `keys` are keys, and the rows.

        `sortable`: rows can be sorted by so many of the columns, the first ones; None: by each.
        """
        self.search = ""
        self.current = -1
        """Number of the column that the rows are sorted by."""
        self.columns = TableColumns(titles, dict.fromkeys(range(keys), _NARROWEST))
        self.keys = keys
        self.sortable = len(titles) if sortable is None else sortable
        self.groups = groups

    @property
    def next(self) -> int:
        """Number of the next row."""
        return len(self.groups)

    def forget(self) -> None:
        """Skip: no row is cached."""

    def total(self, available: int) -> int:
        """Return the columns that a row takes."""
        return self.columns.total(available - _BAR - 2) + 2 + self._bar(available)

    def _bar(self, available: int) -> int:
        """Return the columns of the longest bar: those that the cells leave."""
        return min(_LONGEST_BAR, max(_BAR, available - self.columns.total(available - _BAR - 2) - 2))

    def find(self, text: str, start: int, direction: int, budget: float) -> GroupFound:
        """Return the next row with a text in one of its keys."""
        deadline, row = time.monotonic() + budget, start
        while 0 <= row < self.next:
            if any(text.lower() in cell.lower() for cell in self.groups[row].cells[: self.keys]):
                return GroupFound(row, row)
            row += direction
            if time.monotonic() >= deadline:
                return GroupFound(None, row, False)
        return GroupFound(None, row)

    def prepare(self, first: int, after: int) -> bool:
        """Measure rows to be drawn; return True if columns became wider."""
        wider = [self.columns.see(self.groups[row].cells) for row in range(first, after)]
        return any(wider)

    def header(self, columns: int) -> Iterable[Piece]:
        """Return the titles above their columns."""
        widths = self.columns.widths(columns - _BAR - 2)
        for n in range(len(self.columns.titles)):
            look = "cursor" if n == self.current else ""
            yield Piece(fit(self.columns.heading(n), widths[n], n >= self.keys), look)
            yield Piece("  ")

    def column_at(self, x: int, columns: int) -> int | None:
        """Return the column whose title is at a place of the header."""
        return self.columns.at(x, columns - _BAR - 2)

    def span(self, column: int, columns: int) -> tuple[int, int]:
        """Return the first screen column of a table column, and the one after its last."""
        widths = self.columns.widths(columns - _BAR - 2)
        start = sum(widths[:column]) + 2 * column
        return start, start + widths[column]

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return the cells of a row, and its bar."""
        widths = self.columns.widths(columns - _BAR - 2)
        pattern = self.search.lower()
        group = self.groups[row]
        for n, text in enumerate(group.cells):
            cell = fit(text, widths[n], n >= self.keys) + "  "
            at = cell.lower().find(pattern) if pattern and n < self.keys else -1
            look = "dim" if group.is_others else "name" if n < self.keys else "number" if n == self.current else ""
            yield from highlighted(cell, [(at, at + len(pattern))], look) if at >= 0 else (Piece(cell, look),)
        yield Piece(bar(group.share, self._bar(columns)), "dim" if group.is_others else "mark")


class GroupTable(TopTable):
    """Table of `GroupRows`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "select",
            "Events",
            key_display="enter",
            id="groups.events",
            tooltip="Show the events of the row; of a stack its functions",
        ),
        Binding("left", "sideways(-1)", "Left", show=False, tooltip="Sort by the column to the left"),
        Binding("right", "sideways(1)", "Right", show=False, tooltip="Sort by the column to the right"),
    ]

    class RowOpened(Message):
        """Request for the events of a row."""

        def __init__(self, row: int) -> None:
            super().__init__()
            self.row = row

    def __init__(self, *, has_events: bool = True) -> None:
        """Make an empty table; `has_events`: each row has events that can be shown."""
        self.groups = GroupRows()
        super().__init__(self.groups)
        self._has_events = has_events

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the events of a row where there are some."""
        if action == "select" and not self._has_events:
            return False
        return super().check_action(action, parameters)

    def fill(self, rows: GroupRows) -> None:
        """Show other rows; the cursor stays in its place, or goes to the first row of another table."""
        same = rows.columns.titles == self.groups.columns.titles
        if same:
            self.groups.groups, self.groups.current = rows.groups, rows.current
            self.groups.columns.order = rows.columns.order
        else:
            self.groups = rows
            self.show(rows)
        self.rows_replaced(len(rows.groups), at_top=not same)

    def action_select(self) -> None:
        """Request the events of the row under the cursor."""
        if self.window.has(self.cursor):
            self.post_message(self.RowOpened(self.cursor).set_sender(self))
