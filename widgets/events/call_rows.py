"""Calls as rows of a table: what they were given, what they changed, what they returned, how long they took."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from widgets.columns import WHOLE, Columns
from widgets.events.times import Stamp, kernel_stamp
from widgets.highlight import highlighted
from widgets.lists.tail_table import FoundRow
from widgets.number_format import duration
from widgets.rows import Piece
from widgets.safe_text import fit, safe, width

TITLES = ("time", "task", "call", "latency", "ret", "what changed")
_LOOKS = {0: "dim", 2: "type"}
_RETURNED = 4
_WIDE = 5
_KEPT = 512


class CallValue(NamedTuple):
    """One value of a call."""

    name: str
    before: str | None
    """At the entry; None: it was not read there."""
    after: str | None
    """At the exit; None: it was not read there."""

    @property
    def changed(self) -> bool:
        """Whether the call changed it."""
        return self.before is not None and self.after is not None and self.before != self.after

    @property
    def text(self) -> str:
        """`f_pos 0 → 512`, or `count 512` where the call did not change it."""
        if self.changed:
            return f"{self.name} {self.before} → {self.after}"
        return f"{self.name} {self.before if self.before is not None else self.after or ''}"


class CallText(NamedTuple):
    """One call."""

    ts: int
    """Nanoseconds, of its last event."""
    task: str
    function: str
    latency: int | None
    """Nanoseconds; None: one of its ends was not seen."""
    returned: str
    """What it returned."""
    failed: bool
    """Whether that is an error."""
    values: tuple[CallValue, ...]
    note: str = ""
    """Why an end is not shown."""
    seq: int = -1
    """Number of that event in the store."""


class CallSource(Protocol):
    """Where calls come from: rows `first` to `next - 1`."""

    @property
    def first(self) -> int:
        """Oldest row that is kept."""

    @property
    def next(self) -> int:
        """Row that comes next."""

    def call(self, row: int) -> CallText:
        """A row. Raises IndexError where it was dropped."""

    def find(self, text: str, start: int, direction: int, budget: float) -> FoundRow:
        """One bounded step of a search for a text."""


class CallRows:
    """Rows of a `TailTable`."""

    def __init__(self, source: CallSource) -> None:
        self.search = ""
        self.stamp: Stamp = kernel_stamp
        self.columns = Columns(TITLES[:_WIDE], {0: WHOLE, 2: 16})
        self._source = source
        self._widest = 0
        """Columns of the widest of the last cells."""
        self._kept: dict[int, tuple[tuple[str, ...], tuple[Piece, ...], bool]] = {}

    @property
    def first(self) -> int:
        """Oldest row."""
        return self._source.first

    @property
    def next(self) -> int:
        """Row that comes next."""
        return self._source.next

    def forget(self) -> None:
        """Format rows anew."""
        self._kept.clear()

    def total(self, available: int) -> int:
        """Columns that a row takes."""
        return self.columns.total(available) + 2 + self._widest

    def find(self, text: str, start: int, direction: int, budget: float) -> FoundRow:
        """One bounded step of a search for a text."""
        return self._source.find(text, start, direction, budget)

    def prepare(self, first: int, after: int) -> bool:
        """Format rows that will be drawn; True: columns became wider."""
        if len(self._kept) > _KEPT:
            self._kept.clear()
        new = [self._row(row) for row in range(first, after) if row not in self._kept]
        widest = max([self._widest, *(sum(width(piece.text) for piece in values) for _, values, _ in new)])
        wider = [self.columns.see(cells) for cells, _, _ in new] + [widest > self._widest]
        self._widest = widest
        return any(wider)

    def header(self, columns: int) -> Iterable[Piece]:
        """Titles above their columns."""
        widths = self.columns.widths(columns)
        for n, title in enumerate(self.columns.titles):
            yield Piece(fit(title, widths[n], self.columns.right(n)) + "  ")
        yield Piece(TITLES[_WIDE])

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """The cells of a call, what is searched highlighted."""
        cells, values, failed = self._row(row)
        widths = self.columns.widths(columns)
        for n, text in enumerate(cells):
            look = "bad" if n == _RETURNED and failed else _LOOKS.get(n, "")
            yield from self._marked(Piece(fit(text, widths[n], self.columns.right(n)) + "  ", look))
        for piece in values:
            yield from self._marked(piece)

    def _marked(self, piece: Piece) -> Iterable[Piece]:
        needle = self.search.lower()
        at = piece.text.lower().find(needle) if needle else -1
        return highlighted(piece.text, [(at, at + len(needle))], piece.look) if at >= 0 else (piece,)

    def _row(self, row: int) -> tuple[tuple[str, ...], tuple[Piece, ...], bool]:
        kept = self._kept.get(row)
        if kept is None:
            kept = self._kept[row] = self._format(row)
        return kept

    def _format(self, row: int) -> tuple[tuple[str, ...], tuple[Piece, ...], bool]:
        try:
            call = self._source.call(row)
        except IndexError:
            return ("(dropped)", *("" for _ in self.columns.titles[1:])), (), False
        latency = "" if call.latency is None else duration(call.latency)
        cells = (self.stamp(call.ts, call.seq), safe(call.task), safe(call.function), latency, safe(call.returned))
        return cells, tuple(_values(call)), call.failed


def _values(call: CallText) -> Iterable[Piece]:
    """What changed first, then what did not."""
    if call.note:
        yield Piece(f"{safe(call.note)}  ", "warn")
    changed = [seen for seen in call.values if seen.changed]
    for seen in changed:
        yield Piece(f"{safe(seen.name)} ", "name")
        yield Piece(safe(seen.before or ""), "dim")
        yield Piece(" → ", "name")
        yield Piece(safe(seen.after or ""), "mark")
        yield Piece("  ")
    compared = any(seen.before is not None and seen.after is not None for seen in call.values)
    if compared and not changed:
        yield Piece("(nothing)  ", "dim")
    rest = [seen for seen in call.values if not seen.changed]
    yield Piece("  ".join(safe(seen.text) for seen in rest), "dim")
