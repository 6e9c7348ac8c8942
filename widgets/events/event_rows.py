"""Events of a store as rows of a table: what stands in each column. Only rows on the screen are formatted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol
from zlib import crc32

from events.names.event_names import event_name
from events.store.outage_mark import task_text
from widgets.columns import WHOLE, Columns
from widgets.events.times import Stamp, kernel_stamp
from widgets.highlight import highlighted
from widgets.lists.line_paint import HUES
from widgets.lists.tail_table import FoundRow
from widgets.rows import Piece
from widgets.safe_text import cut_middle, fit, safe


class EventColumn(NamedTuple):
    """One column of the table."""

    name: str
    of_all: bool = False
    """One that every event has (`FIXED`); else a field."""


FIXED: Final = tuple(EventColumn(name, of_all=True) for name in ("time", "cpu", "task", "event"))
"""Columns that every event has."""
MARK: Final = "◆"
"""Before the time of a marked event."""
_LOOKS: Final = {"time": "dim", "cpu": "dim", "event": "type"}
_KEPT: Final = 512
_EVENT: Final = 18
"""Columns that an event's name keeps: `vfs_read__entry` and `vfs_read__exit` differ at their ends."""

_CLOCK: Final = 15
"""Columns of a time of the day, `14:03:22.123456`: a part of one says nothing."""


class Event(Protocol):
    """What every event has (`events.record.Record` is one)."""

    @property
    def seq(self) -> int:
        """Its number in the store."""

    @property
    def ts(self) -> int:
        """Nanoseconds."""

    @property
    def cpu(self) -> int:
        """Number of the CPU."""

    @property
    def pid(self) -> int:
        """Thread id; -1: none."""

    @property
    def comm(self) -> str:
        """Name of the task."""

    @property
    def event(self) -> str:
        """`group/name`."""


class EventStore(Protocol):
    """Where events come from (`events.store.store.Store`): rows `first_seq` to `next_seq - 1`."""

    @property
    def first_seq(self) -> int:
        """Oldest row that is kept."""

    @property
    def next_seq(self) -> int:
        """Number of the row that comes next."""

    def record(self, seq: int) -> Event:
        """The event of a row. Raises IndexError where it was dropped."""

    def find(self, match: str, start: int, direction: int = 1, budget: float = 0.01) -> FoundRow:
        """One bounded step of a search for a text."""


Cells = Callable[[Event], Mapping[str, str]]
"""Event -> text by field name, foreign text allowed."""


class EventRows:
    """See the module."""

    def __init__(
        self, store: EventStore, columns: Sequence[EventColumn], cells: Cells, marks: Collection[int] = frozenset()
    ) -> None:
        """Take the columns to show, what gives their texts, and the numbers of events that are marked."""
        self.store = store
        self.search = ""
        self.current = -1
        """Place of the column that the keys are about; -1: of none."""
        self.stamp: Stamp = kernel_stamp
        self.hued = ""
        """`task` or `event`: what has its own colour for each value; empty: nothing."""
        event = columns.index(FIXED[3]) if FIXED[3] in columns else -1
        least = {n: _CLOCK for n, column in enumerate(columns) if column.name == "time" and not column.of_all}
        least |= {event: _EVENT} if event >= 0 else {}
        # With a mark before it it is no number, and rows of one moment would all look the same.
        least |= {n: WHOLE for n, column in enumerate(columns) if column == FIXED[0]}
        self.columns = Columns([safe(column.name) for column in columns], least)
        self._shown = tuple(columns)
        self._cells = cells
        self._marks = marks
        self._texts: dict[int, tuple[str, ...]] = {}

    @property
    def first(self) -> int:
        """Oldest row."""
        return self.store.first_seq

    @property
    def next(self) -> int:
        """Row that comes next."""
        return self.store.next_seq

    def forget(self) -> None:
        """Format rows anew: what a name stands for has changed."""
        self._texts.clear()

    def total(self, available: int) -> int:
        """Columns that a row takes."""
        return self.columns.total(available)

    def find(self, text: str, start: int, direction: int, budget: float) -> FoundRow:
        """One bounded step of a search for a text."""
        return self.store.find(text, start, direction, budget)

    def prepare(self, first: int, after: int) -> bool:
        """Format rows that will be drawn; True: columns became wider, so that all of them look different."""
        if len(self._texts) > _KEPT:
            self._texts.clear()
        wider = [self.columns.see(self._texts_of(row)) for row in range(first, after) if row not in self._texts]
        return any(wider)

    def header(self, columns: int) -> Iterable[Piece]:
        """Titles above their columns."""
        widths = self.columns.widths(columns)
        for n, title in enumerate(self.columns.titles):
            if n:
                yield Piece("  ")
            yield Piece(fit(title, widths[n], self.columns.right(n)), "cursor" if n == self.current else "")

    def span(self, column: int, columns: int) -> tuple[int, int]:
        """First column of the screen that a column of the table takes, and the one behind it."""
        widths = self.columns.widths(columns)
        start = sum(widths[:column]) + 2 * column
        return start, start + widths[column]

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """The cells of an event, what is searched highlighted."""
        widths = self.columns.widths(columns)
        for n, text in enumerate(self._texts_of(row)):
            if self._shown[n] == FIXED[3]:  # both ends of a call differ in the last letters
                text = cut_middle(text, widths[n])
            cell = ("  " if n else "") + fit(text, widths[n], self.columns.right(n))
            yield from highlighted(cell, self._hits(self.columns.titles[n], text, cell), self._look(n, text))

    def _look(self, column: int, text: str) -> str:
        name, of_all = self._shown[column]
        if not of_all:
            return "dim" if text == "0" else ""
        if text.startswith(MARK):
            return "mark"
        return HUES[crc32(text.encode()) % len(HUES)] if name == self.hued else _LOOKS.get(name, "")

    def _hits(self, title: str, text: str, cell: str) -> list[tuple[int, int]]:
        """Where the search is in a cell; `count=51` is in the cells of that column that begin so."""
        needle = self.search.lower()
        at = f"{title}={text}".lower().find(needle) if needle else -1
        start, end = at - len(title) - 1, at - len(title) - 1 + len(needle)
        if at < 0 or end <= 0:
            start = text.lower().find(needle) if needle else -1
            end = start + len(needle)
            if start < 0:
                return []
        blanks = len(cell) - len(cell.lstrip()) if cell.startswith(" ") and not text.startswith(" ") else 0
        return [(max(0, start) + blanks, end + blanks)]

    def missing(self) -> str:
        """Return the text in place of a row that the store has no more."""
        return "(dropped)"

    def _texts_of(self, row: int) -> tuple[str, ...]:
        texts = self._texts.get(row)
        if texts is None:
            texts = self._texts[row] = self._format(row)
        return texts

    def _format(self, row: int) -> tuple[str, ...]:
        try:
            event = self.store.record(row)
        except IndexError:
            return (self.missing(), *("" for _ in self.columns.titles[1:]))
        values = self._cells(event)
        return tuple(
            safe(self._fixed(event, name) if of_all else values.get(name, "")) for name, of_all in self._shown
        )

    def _fixed(self, event: Event, name: str) -> str:
        if name == "time":
            return MARK * (event.seq in self._marks) + self.stamp(event.ts, event.seq)
        if name == "cpu":
            return str(event.cpu) if event.cpu >= 0 else ""
        if name == "task":
            return task_text(event.comm, event.pid, event.event)
        return event_name(event.event)
