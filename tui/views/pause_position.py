"""Position of a paused display, kept while its rows are filtered again."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from widgets.lists.tail_table import TailTable


class Place(NamedTuple):
    """Place of the cursor that no filter changes."""

    cursor: int
    """Number of the item under the cursor."""
    newest: int
    """Number of the newest item when the display was paused."""
    above: int
    """Rows on the screen above the cursor."""


class FilterableRows(Protocol):
    """Rows of items with numbers that no filter changes."""

    @property
    def backlog(self) -> int:
        """Number of events, or items, not yet checked."""

    def place(self, row: int) -> int | None:
        """Return the number of a row's item; None: there is no such row."""

    def row_from(self, number: int) -> int:
        """Return the first row whose item has at least a number."""


class PausePosition:
    """Place that a table goes back to as soon as its rows are found again."""

    def __init__(self, table: TailTable) -> None:
        self.wanted: Place | None = None
        """Place that is not found yet; None: the table stands where it should."""
        self._table = table
        self._last: Place | None = None
        """Place that the table went back to last: it holds while no row passes."""

    def read(self, shown: FilterableRows) -> Place | None:
        """Return the place that must be kept; None: rows are followed."""
        table = self._table
        if table.follow.following:
            return self.wanted
        cursor, newest = shown.place(table.cursor), shown.place(table.follow.left_at - 1)
        if cursor is None:
            return self._last
        return Place(cursor, cursor if newest is None else newest, table.cursor - table.window.top)

    def restore(self, shown: FilterableRows) -> None:
        """Go back to the place, once its row is found."""
        place = self.wanted
        if place is None or (
            shown.backlog and shown.row_from(max(place.cursor, place.newest)) == self._table.rows.next
        ):
            return
        self.wanted, self._last = None, place
        self._table.follower.hold(shown.row_from(place.cursor), place.above, shown.row_from(place.newest + 1))
