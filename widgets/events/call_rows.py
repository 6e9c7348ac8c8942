"""Calls as table rows: arguments, changed values, result and duration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from widgets.columns import WHOLE, TableColumns
from widgets.events.times import Stamp, kernel_stamp
from widgets.highlight import highlighted
from widgets.lists.table_rows import FoundRow, ItemSource
from widgets.number_format import duration
from widgets.rows import Piece
from widgets.safe_text import fit, safe, width

TITLES = ("time", "task", "call", "latency", "ret", "what changed")
_LOOKS = {0: "dim", 2: "type"}
TIME_COLUMN = 0
LATENCY_COLUMN = 3
_RETURNED = 4
_WIDE = 5
_MOST_CACHED = 512


class CallValue(NamedTuple):
    """Value of a call."""

    name: str
    before: str | None
    """Value at the entry; None: not captured there."""
    after: str | None
    """Value at the exit; None: not captured there."""

    @property
    def changed(self) -> bool:
        """True if the call changed the value."""
        return self.before is not None and self.after is not None and self.before != self.after

    @property
    def text(self) -> str:
        """Text `f_pos 0 → 512`, or `count 512` if the call did not change the value."""
        if self.changed:
            return f"{self.name} {self.before} → {self.after}"
        return f"{self.name} {self.before if self.before is not None else self.after or ''}"


class CallText(NamedTuple):
    """Texts of a call."""

    ts: int
    """Nanoseconds of its last event."""
    task: str
    function: str
    latency: int | None
    """Nanoseconds; None: one of its ends is missing."""
    returned: str
    """Result of the call."""
    failed: bool
    """True if the result is an error."""
    values: tuple[CallValue, ...]
    note: str = ""
    """Reason why an end is missing."""
    seq: int = -1
    """Sequence number of the last event."""


class CallRows:
    """Rows of a `TailTable`."""

    def __init__(self, source: ItemSource[CallText]) -> None:
        self.search = ""
        self.stamp: Stamp = kernel_stamp
        self.columns = TableColumns(TITLES[:_WIDE], {0: WHOLE, 2: 16})
        self._source = source
        self._widest = 0
        """Columns of the widest last cell."""
        self._cached: dict[int, tuple[tuple[str, ...], tuple[Piece, ...], bool]] = {}

    @property
    def first(self) -> int:
        """Oldest row."""
        return self._source.first

    @property
    def next(self) -> int:
        """Number of the next row."""
        return self._source.next

    def forget(self) -> None:
        """Discard formatted rows."""
        self._cached.clear()

    def total(self, available: int) -> int:
        """Return the columns that a row takes."""
        return self.columns.total(available) + 2 + self._widest

    def find(self, text: str, start: int, direction: int, budget: float) -> FoundRow:
        """Search for a text for at most `budget` seconds."""
        return self._source.find(text, start, direction, budget)

    def prepare(self, first: int, after: int) -> bool:
        """Format rows to be drawn; return True if columns became wider."""
        if len(self._cached) > _MOST_CACHED:
            self._cached.clear()
        new = [self._row(row) for row in range(first, after) if row not in self._cached]
        widest = max([self._widest, *(sum(width(piece.text) for piece in values) for _, values, _ in new)])
        wider = [self.columns.see(cells) for cells, _, _ in new] + [widest > self._widest]
        self._widest = widest
        return any(wider)

    def header(self, columns: int) -> Iterable[Piece]:
        """Return the titles above their columns."""
        widths = self.columns.widths(columns)
        for n, size in enumerate(widths):
            yield Piece(fit(self.columns.heading(n), size, self.columns.right(n)) + "  ")
        yield Piece(TITLES[_WIDE])

    def column_at(self, x: int, columns: int) -> int | None:
        """Return the column whose title is at a place of the header."""
        found = self.columns.at(x, columns)
        return _WIDE if found is None and x >= self.columns.total(columns) else found

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return the cells of a call, with matches of the search highlighted."""
        cells, values, failed = self._row(row)
        widths = self.columns.widths(columns)
        for n, text in enumerate(cells):
            look = "bad" if n == _RETURNED and failed else _LOOKS.get(n, "")
            yield from self._with_matches(Piece(fit(text, widths[n], self.columns.right(n)) + "  ", look))
        for piece in values:
            yield from self._with_matches(piece)

    def _with_matches(self, piece: Piece) -> Iterable[Piece]:
        pattern = self.search.lower()
        at = piece.text.lower().find(pattern) if pattern else -1
        return highlighted(piece.text, [(at, at + len(pattern))], piece.look) if at >= 0 else (piece,)

    def _row(self, row: int) -> tuple[tuple[str, ...], tuple[Piece, ...], bool]:
        cached = self._cached.get(row)
        if cached is None:
            cached = self._cached[row] = self._format(row)
        return cached

    def _format(self, row: int) -> tuple[tuple[str, ...], tuple[Piece, ...], bool]:
        try:
            call = self._source.item(row)
        except IndexError:
            return ("(dropped)", *("" for _ in self.columns.titles[1:])), (), False
        latency = "" if call.latency is None else duration(call.latency)
        cells = (self.stamp(call.ts, call.seq), safe(call.task), safe(call.function), latency, safe(call.returned))
        return cells, tuple(_values(call)), call.failed


def _values(call: CallText) -> Iterable[Piece]:
    """Yield changed values first, then the others."""
    if call.note:
        yield Piece(f"{safe(call.note)}  ", "warn")
    changed = [value for value in call.values if value.changed]
    for value in changed:
        yield Piece(f"{safe(value.name)} ", "name")
        yield Piece(safe(value.before or ""), "dim")
        yield Piece(" → ", "name")
        yield Piece(safe(value.after or ""), "mark")
        yield Piece("  ")
    compared = any(value.before is not None and value.after is not None for value in call.values)
    if compared and not changed:
        yield Piece("(nothing)  ", "dim")
    rest = [value for value in call.values if not value.changed]
    yield Piece("  ".join(safe(value.text) for value in rest), "dim")
