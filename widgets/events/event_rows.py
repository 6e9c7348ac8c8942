"""Events of a store as table rows. Only rows on the screen are formatted."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol
from zlib import crc32

from events.names.event_names import event_name
from events.store.outage_mark import task_text
from events.text import join_values
from widgets.columns import WHOLE, TableColumns
from widgets.events.times import Stamp, kernel_stamp
from widgets.highlight import highlighted
from widgets.lists.line_paint import HUES
from widgets.lists.table_rows import FoundRow, ItemSource
from widgets.rows import Piece
from widgets.safe_text import cut, cut_middle, fit, safe, width


class EventColumn(NamedTuple):
    """Column of the table."""

    name: str
    of_all: bool = False
    """True for a property of every event (`FIXED`); False for a field."""


FIXED: Final = tuple(EventColumn(name, of_all=True) for name in ("time", "cpu", "task", "event"))
"""Columns that every event has."""
MARK: Final = "◆"
"""Sign before the time of a marked event."""
_LOOKS: Final = {"time": "dim", "cpu": "dim", "event": "type"}
_MOST_CACHED: Final = 512
_LEAST_ACROSS: Final = 24
"""Columns that a text in place of cells has at least; the row scrolls sideways where there are fewer."""
_NAME: Final = re.compile(r"(?<![^ {])[\w.]++=")
"""Name of a value in such a text."""
_EVENT: Final = 18
"""Minimum columns of an event's name: `vfs_read__entry` and `vfs_read__exit` differ at their ends."""

_CLOCK: Final = 15
"""Columns of a time of day, `14:03:22.123456`: a part of it is useless."""


class ShownEvent(Protocol):
    """Properties of every event (`events.record.Record` has them)."""

    @property
    def seq(self) -> int:
        """Sequence number in the store."""

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
        """Path `group/name`."""


_CUT_WITHIN: Final = FIXED[2:4]
"""Columns whose ends tell the most: tasks have their ids there, both ends of a call differ there."""
Cells = Callable[[ShownEvent], Mapping[str, str]]
"""Event -> text by field name, foreign text allowed."""
Owners = Callable[[str], Mapping[str, str]]
"""Path of an event -> structure by the name of each field that was read from one."""


class EventRows:
    """Rows of a table of events."""

    def __init__(
        self,
        source: ItemSource[ShownEvent],
        columns: Sequence[EventColumn],
        cells: Cells,
        marks: Collection[int] = frozenset(),
        *,
        fields: Sequence[str] = (),
        owners: Owners = lambda _: {},
        kinds: Mapping[str, Collection[str]] | None = None,
        missing: str = "(dropped)",
    ) -> None:
        """Set what is shown.

        Args:
            source: the events.
            columns: visible columns.
            cells: function for the texts of an event.
            marks: sequence numbers of marked events.
            fields: fields that are shown, in order: an event that has one without a column shows all as `name=value`,
                across the columns of fields.
            owners: function for the structures that fields of an event were read from, see `join_values`.
            kinds: fields that are shown of an event, by its path; of an event that is not there all are.
            missing: text in place of an event that the source does not have.
        """
        self._source = source
        self.search = ""
        self.current = -1
        """Number of the current column; -1: none."""
        self.stamp: Stamp = kernel_stamp
        self.colour_property = ""
        """Property with one colour for each value, `task` or `event`; empty: none."""
        event = columns.index(FIXED[3]) if FIXED[3] in columns else -1
        least = {n: _CLOCK for n, column in enumerate(columns) if column.name == "time" and not column.of_all}
        least |= {event: _EVENT} if event >= 0 else {}
        # A time with a mark is no number, and without its end rows of one moment would look alike.
        least |= {n: WHOLE for n, column in enumerate(columns) if column == FIXED[0]}
        self.columns = TableColumns([safe(column.name) for column in columns], least)
        self._visible_columns = tuple(columns)
        self._cells = cells
        self._missing = missing
        self._marks = marks
        self._owners = owners
        self._kinds = kinds or {}
        self._across = 1 + max((n for n, column in enumerate(columns) if column.of_all), default=-1)
        """Number of the column that a text in place of cells begins at: the first behind those of every event."""
        self._rest = frozenset(fields).difference(column.name for column in columns if not column.of_all)
        before = {column.name for column in columns[: self._across] if not column.of_all}
        self._named = [name for name in fields if name not in before]
        """Fields that stand in such a text."""
        self._least_across = 0
        """Columns that such texts have at least, with the gap before them; 0: there are none."""
        self._rooms = -1, 0
        """Columns of a row, and those that its cells have."""
        self._texts: dict[int, tuple[str, ...]] = {}

    @property
    def first(self) -> int:
        """Oldest row."""
        return self._source.first

    @property
    def next(self) -> int:
        """Number of the next row."""
        return self._source.next

    def forget(self) -> None:
        """Discard formatted rows, after names have changed."""
        self._texts.clear()

    def total(self, available: int) -> int:
        """Return the columns that a row takes."""
        return max(self._start(available) + self._least_across, self.columns.total(self._room(available)))

    def _start(self, columns: int) -> int:
        """Return the column of the screen that a text in place of cells begins at, with the gap before it."""
        return sum(self._widths(columns)[: self._across]) + 2 * max(0, self._across - 1)

    def _widths(self, columns: int) -> list[int]:
        return self.columns.widths(self._room(columns))

    def _room(self, columns: int) -> int:
        """Return the columns that cells have: the first ones give way to texts in place of cells."""
        if self._rooms[0] != columns:
            self._rooms = columns, columns
            self._rooms = columns, min(columns, 2 * columns - self._start(columns) - self._least_across)
        return self._rooms[1]

    def find(self, text: str, start: int, direction: int, budget: float) -> FoundRow:
        """Search for a text for at most `budget` seconds."""
        return self._source.find(text, start, direction, budget)

    def prepare(self, first: int, after: int) -> bool:
        """Format rows to be drawn; return True if columns became wider, so that all rows look different."""
        if len(self._texts) > _MOST_CACHED:
            self._texts.clear()
        new = [self._texts_of(row) for row in range(first, after) if row not in self._texts]
        least = self._least_across
        if self._rest:
            widest = max((width(texts[-1]) for texts in new), default=0)
            self._least_across = max(least, min(widest, _LEAST_ACROSS) + 2 * (self._across > 0))
        wider = [self.columns.see(texts[:-1]) for texts in new]
        if any(wider) or self._least_across > least:
            self._rooms = -1, 0
        return self._rooms[0] < 0

    def header(self, columns: int) -> Iterable[Piece]:
        """Return the titles above their columns."""
        widths = self._widths(columns)
        for n in range(len(self.columns.titles)):
            if n:
                yield Piece("  ")
            look = "cursor" if n == self.current else ""
            yield Piece(fit(self.columns.heading(n), widths[n], self.columns.right(n)), look)

    def column_at(self, x: int, columns: int) -> int | None:
        """Return the column whose title is at a place of the header."""
        return self.columns.at(x, self._room(columns))

    def span(self, column: int, columns: int) -> tuple[int, int]:
        """Return the first screen column of a table column, and the one after its last."""
        widths = self._widths(columns)
        start = sum(widths[:column]) + 2 * column
        return start, start + widths[column]

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return the cells of an event, or a text in place of some, with matches of the search highlighted."""
        widths = self._widths(columns)
        *texts, across = self._texts_of(row)
        for n, text in enumerate(texts[: self._across] if across else texts):
            if self._visible_columns[n] in _CUT_WITHIN:
                text = cut_middle(text, widths[n])
            cell = ("  " if n else "") + fit(text, widths[n], self.columns.right(n))
            yield from highlighted(cell, self._hits(self.columns.titles[n], text, cell), self._look(n, text))
        if across:
            gap = "  " * (self._across > 0)
            yield from self._named_values(gap + cut(across, columns - self._start(columns) - len(gap)))

    def _named_values(self, text: str) -> Iterable[Piece]:
        """Return `name=value` texts, whose names are less bright than the values."""
        hits, at = self._hits("", text, text), 0
        for start, after in (*(match.span() for match in _NAME.finditer(text)), (len(text), len(text))):
            for first, end, look in ((at, start, ""), (start, after, "dim")):
                runs = [(max(0, hit - first), stop - first) for hit, stop in hits if hit < end and stop > first]
                yield from highlighted(text[first:end], runs, look)
            at = after

    def _look(self, column: int, text: str) -> str:
        name, of_all = self._visible_columns[column]
        if not of_all:
            return "dim" if text == "0" else ""
        if text.startswith(MARK):
            return "mark"
        return HUES[crc32(text.encode()) % len(HUES)] if name == self.colour_property else _LOOKS.get(name, "")

    def _hits(self, title: str, text: str, cell: str) -> list[tuple[int, int]]:
        """Return the places of the search text in a cell; `count=51` matches cells of that column that begin so."""
        pattern = self.search.lower()
        at = f"{title}={text}".lower().find(pattern) if pattern else -1
        start, end = at - len(title) - 1, at - len(title) - 1 + len(pattern)
        if at < 0 or end <= 0:
            start = text.lower().find(pattern) if pattern else -1
            end = start + len(pattern)
            if start < 0:
                return []
        blanks = len(cell) - len(cell.lstrip()) if cell.startswith(" ") and not text.startswith(" ") else 0
        return [(max(0, start) + blanks, end + blanks)]

    def _texts_of(self, row: int) -> tuple[str, ...]:
        texts = self._texts.get(row)
        if texts is None:
            texts = self._texts[row] = self._format(row)
        return texts

    def _format(self, row: int) -> tuple[str, ...]:
        try:
            event = self._source.item(row)
        except IndexError:
            return (self._missing, *("" for _ in self.columns.titles))
        values = self._cells(event)
        own = self._kinds.get(event.event, values)
        is_across = any(name in values and name in own for name in self._rest)
        texts = tuple(
            safe(
                self._fixed(event, name)
                if of_all
                else ""
                if is_across and n >= self._across
                else values.get(name, "")
            )
            for n, (name, of_all) in enumerate(self._visible_columns)
        )
        if not is_across:
            return (*texts, "")
        named = ((safe(name), safe(values[name])) for name in self._named if name in values and name in own)
        return (*texts, join_values(named, self._owners(event.event)))

    def _fixed(self, event: ShownEvent, name: str) -> str:
        if name == "time":
            return MARK * (event.seq in self._marks) + self.stamp(event.ts, event.seq)
        if name == "cpu":
            return str(event.cpu) if event.cpu >= 0 else ""
        if name == "task":
            return task_text(event.comm, event.pid, event.event)
        return event_name(event.event)
