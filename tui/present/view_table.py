"""A table of a view as it is given out: rows as objects, and as cells of columns; no screen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from tui.filter.filter import Filter, PassCount
from widgets.number_format import grouped

if TYPE_CHECKING:
    from events.decode import Value
    from events.store.store import Store
    from kernel.watch.watch import Watch

Cells = Mapping[str, "Value | float"]


class ViewTable(ABC):
    """The rows of one view."""

    name: ClassVar[str]
    """Word for its rows: `calls`."""

    @property
    def total(self) -> int:
        """Events that the table is made of."""
        return 0

    @property
    def left(self) -> int:
        """Number of events, of those that were there when the table was made, that were not looked at yet."""
        return 0

    @property
    @abstractmethod
    def text(self) -> str:
        """Number of its rows: `53 of 211 calls`; without a filter `211 calls`."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return a line for each thing that is not in the table."""
        return ()

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Titles of the columns of `cells`."""

    def read(self) -> None:  # noqa: B027 - most tables are made of events
        """Read from the kernel what the table is made of; waits, and belongs in front of all else.

        Raises ProbeRefused, FileRefused, TargetLost.
        """

    def tick(self, budget: float) -> None:  # noqa: B027 - not every table is made of events
        """Look at events, for about so many seconds."""

    @abstractmethod
    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the rows in the order of the screen, for JSON."""

    @abstractmethod
    def cells(self, row: Mapping[str, Any]) -> Iterator[Cells]:
        """Yield the rows that an object is in a table of columns."""


class EventsTable(ViewTable):
    """The rows of one view, of all that a store holds."""

    def __init__(self, watch: Watch, store: Store, chosen: Filter) -> None:
        """Take whose events they are, where they are, and the filter."""
        self.watch = watch
        self.store = store
        self.chosen = chosen
        self._total = len(store)
        self._stop = store.next_seq

    @property
    @abstractmethod
    def counted(self) -> PassCount:
        """Number of rows, and without the filter."""

    @property
    def total(self) -> int:
        return self._total

    @property
    @abstractmethod
    def behind(self) -> int:
        """Number of events that were not looked at yet, those that have come since among them."""

    @property
    def left(self) -> int:
        return max(0, self._stop - (self.store.next_seq - self.behind))

    @property
    def text(self) -> str:
        counted = self.counted
        return counted.text if self.chosen.text else f"{grouped(counted.passing)} {counted.unit}"

    @property
    def notes(self) -> tuple[str, ...]:
        gone = self.store.evicted
        return (f"{grouped(gone)} older events were dropped from memory: no row is of them",) if gone else ()
