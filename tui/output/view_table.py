"""Base classes for exports of a view's table: rows as JSON objects, and as cells of columns. Imports no screen
code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

from events.export.formats.csv_table import column_names
from foreign.count_text import counted
from tui.filter.filter import Filter, PassCount

if TYPE_CHECKING:
    from events.decode import Value
    from events.export.catalogue import Format
    from events.store.store import Store
    from kernel.watch.watch import Watch

Cells = Mapping[str, "Value | float"]


def key_titles(keys: Sequence[str], others: Collection[str]) -> dict[str, str]:
    """Return the titles of the columns of keys: their names, with `_` behind those that `others` has.

    Titles of columns that all tables have stay, so that what reads them needs not know the keys.
    """
    return dict(zip(keys, column_names(keys, others), strict=True))


class ViewTable(ABC):
    """Rows of one view."""

    name: ClassVar[str]
    """Word for its rows, as `calls`."""

    @property
    def total(self) -> int:
        """Number of events that the table is made of."""
        return 0

    @property
    def unread(self) -> int:
        """Number of events not yet processed, of those received before the table was made."""
        return 0

    @property
    @abstractmethod
    def text(self) -> str:
        """Number of its rows: `53 of 211 calls`; without a filter `211 calls`."""

    @property
    def lacking(self) -> tuple[str, ...]:
        """Numbers of events or calls that no row is of, in words: `39 without comm or ret`."""
        return ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on missing data, one a line."""
        return ()

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Titles of the columns of `cells`."""

    def read(self) -> None:  # noqa: B027 - most tables are made of events
        """Read the table's data from the kernel; waits, and must be called first.

        Raises ProbeRefused, FileRefused, TargetLost.
        """

    def tick(self, budget: float) -> None:  # noqa: B027 - not every table is made of events
        """Process events, for about `budget` seconds."""

    @abstractmethod
    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the rows in the order of the screen, for JSON."""

    def write_stacks(self, form: Format, out: BinaryIO) -> None:
        """Write the stacks that the rows are, in a format `of_stacks`. Raises OSError."""
        raise NotImplementedError  # only a table of stacks is offered in such a format

    @abstractmethod
    def cells(self, row: Mapping[str, Any]) -> Iterator[Cells]:
        """Yield the rows of cells for one object."""


class EventsTable(ViewTable):
    """Rows of one view, made of all events in a store."""

    def __init__(self, watch: Watch, store: Store, chosen: Filter) -> None:
        """Set the watch, the store of the events, and the filter."""
        self.watch = watch
        self.store = store
        self.chosen = chosen
        self._total = len(store)
        self._stop = store.next_seq

    @property
    @abstractmethod
    def counted(self) -> PassCount:
        """Number of rows that pass, and of all rows."""

    @property
    def total(self) -> int:
        return self._total

    @property
    @abstractmethod
    def backlog(self) -> int:
        """Number of events not yet processed, including those received since."""

    @property
    def unread(self) -> int:
        return max(0, self._stop - (self.store.next_seq - self.backlog))

    @property
    def text(self) -> str:
        rows = self.counted
        return rows.text if self.chosen.text else counted(rows.passing, rows.unit)

    @property
    def notes(self) -> tuple[str, ...]:
        dropped = self.store.evicted
        return (
            (f"{counted(dropped, 'older event was', 'older events were')} dropped from memory: no row is of them",)
            if dropped
            else ()
        )
