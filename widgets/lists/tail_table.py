"""A table that grows at its end: columns that widen with what is seen, found text highlighted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar, Final, Protocol

from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from widgets.lists.tail_list import TailList
from widgets.rows import Piece, Rows

_SIDEWAYS: Final = 8
"""Columns of the screen that one press of a key scrolls."""


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


class TableRows(Rows, Protocol):
    """Rows with columns."""

    search: str
    """Text that is highlighted."""

    def total(self, available: int) -> int:
        """Columns that a row takes where so many are there; may be more."""

    def header(self, columns: int) -> Iterable[Piece]:
        """Titles above their columns."""

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


class TailTable(TailList):
    """A table over `TableRows`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "select",
            "Details",
            key_display="enter",
            id="events.details",
            tooltip="All there is about the row under the cursor",
        ),
        Binding("left", "sideways(-1)", "Left", show=False, id="events.left", tooltip="The columns to the left"),
        Binding("right", "sideways(1)", "Right", show=False, id="events.right", tooltip="The columns to the right"),
    ]

    DEFAULT_CSS = """
    TailTable { overflow-x: auto; }
    """

    search: reactive[str] = reactive("", repaint=False)
    """Text that is highlighted."""

    class DetailRequested(Message):
        """All there is about a row is wanted."""

        def __init__(self, row: int) -> None:
            super().__init__()
            self.row = row

    def __init__(self, rows: TableRows | None = None) -> None:
        self._table: TableRows = rows or EmptyTable()
        self.turn: Callable[[int], None] | None = None
        """Goes to another column, where one can; else the table scrolls."""
        super().__init__(self._table, header=True)

    def show(self, rows: TableRows) -> None:
        """Show other rows; follows."""
        self._table = rows
        rows.search = self.search
        self.rows = rows

    def find(self, text: str, start: int, direction: int, budget: float) -> FoundRow:
        """Take one bounded step of a search for a text."""
        return self._table.find(text, start, direction, budget)

    def names_changed(self) -> None:
        """Tasks got names: format rows anew."""
        self._table.forget()
        self._painter.forget()
        self.refresh()

    def wanted_columns(self) -> int:
        """Return the width of the columns with the mark of the cursor."""
        return 1 + self._table.total(self.columns - 1)

    def header(self, columns: int) -> Iterable[Piece]:
        """Titles above their columns."""
        return [Piece(" "), *self._table.header(columns - 1)]

    def render_lines(self, crop: Region) -> list[Strip]:
        """Format what will be seen first: it may need wider columns."""
        first = max(self.top, self._table.first)
        if self._table.prepare(first, min(first + self.page, self._table.next)):
            self._painter.forget()
            self.refresh()
            self.call_after_refresh(self.sync_extent)
        return super().render_lines(crop)

    def watch_search(self, search: str) -> None:
        """Highlight it where it is on the screen."""
        self._table.search = search
        self._painter.forget()
        self.refresh()

    def action_select(self) -> None:
        """Ask for the details of the row under the cursor, or of the newest."""
        if self.following and self._shown[1] > self._shown[0]:
            self._stop(self.top)
        if self._has(self.cursor):
            self.post_message(self.DetailRequested(self.cursor).set_sender(self))

    def action_sideways(self, step: int) -> None:
        """Scroll to the right, or to the left."""
        if self.turn is not None:
            self.turn(step)
        else:
            self.scroll_to(x=self.scroll_offset.x + step * _SIDEWAYS, animate=False, force=True)

    def show_columns(self, start: int, after: int) -> None:
        """Scroll until some columns of the rows are visible, as far as they fit."""
        left = self.scroll_offset.x
        left = min(max(left, after + 1 - self.columns), start)
        self.scroll_to(x=max(0, left), animate=False, force=True)
