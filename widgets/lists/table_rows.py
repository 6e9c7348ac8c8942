"""Define the rows of a growing table: columns, a search, and rows of which there are none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from widgets.rows import Piece, Rows

Item_co = TypeVar("Item_co", covariant=True)


class FoundRow(Protocol):
    """Step of a search (`events.search.search.SearchStep`)."""

    @property
    def seq(self) -> int | None:
        """Row that matches; None: none yet."""

    @property
    def next(self) -> int:
        """Row at which the next step starts."""

    @property
    def done(self) -> bool:
        """A row was found, or there are no more."""


class ItemSource(Protocol[Item_co]):
    """Source of the items that stand in rows `first` to `next - 1`."""

    @property
    def first(self) -> int:
        """Oldest row in memory."""

    @property
    def next(self) -> int:
        """Number of the next row."""

    def item(self, row: int) -> Item_co:
        """Return the item of a row. Raises IndexError if it was dropped."""

    def find(self, text: str, start: int, direction: int, budget: float) -> FoundRow:
        """Search for a text for at most `budget` seconds."""


class TableRows(Rows, Protocol):
    """Rows with columns."""

    search: str
    """Text that is highlighted."""

    def total(self, available: int) -> int:
        """Return the columns that a row takes if `available` are there; may be more."""

    def header(self, columns: int) -> Iterable[Piece]:
        """Return the titles above their columns."""

    def column_at(self, x: int, columns: int) -> int | None:
        """Return the column whose title is at a place of the header, counted from 0; None: there is none."""

    def prepare(self, first: int, after: int) -> bool:
        """Format rows that will be drawn; True: columns became wider, so that all of them look different."""

    def forget(self) -> None:
        """Format rows anew: what a name stands for has changed."""

    def find(self, text: str, start: int, direction: int, budget: float) -> FoundRow:
        """Take one bounded step of a search for a text."""


class EmptyTable:
    """Rows of which there are none."""

    first = 0
    next = 0
    search = ""

    def total(self, available: int) -> int:  # noqa: ARG002 - by the protocol, as below
        """Return 0."""
        return 0

    def header(self, columns: int) -> Iterable[Piece]:  # noqa: ARG002
        """Return no titles."""
        return ()

    def column_at(self, x: int, columns: int) -> int | None:  # noqa: ARG002
        """Return None."""
        return None

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:  # noqa: ARG002
        """Never called."""
        return ()

    def prepare(self, first: int, after: int) -> bool:  # noqa: ARG002
        """Do nothing."""
        return False

    def forget(self) -> None:
        """Do nothing."""

    def find(self, text: str, start: int, direction: int, budget: float) -> FoundRow:  # noqa: ARG002
        """Never called."""
        raise IndexError(start)
