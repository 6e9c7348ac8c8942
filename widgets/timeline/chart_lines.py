"""Lines of a time line for one size of the screen: a ruler, a graph of all events, and a line for each lane. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from widgets.number_format import short
from widgets.rows import Piece
from widgets.safe_text import cut, width
from widgets.timeline.ruler import RulerTick, ruler_text

LEVELS: Final = " ▁▂▃▄▅▆▇█"
"""Densities of a cell."""
_HIGHEST: Final = 8
_GRID: Final = "┊"
_CUT: Final = "░"
"""Stands in cells without an event while a connection was lost."""
_LOSS: Final = "✗"
_GAP: Final = "─"
_COUNT: Final = 6
"""Columns of the number of a lane's events, with a blank before it."""
_TALLEST: Final = 3
"""Most lines of a lane."""
_HERE: Final = "▼"
_FIXED: Final = 1
"""Lines that are always there: the ruler."""


class ChartLane(NamedTuple):
    """Events of one lane."""

    name: str
    """Safe text."""
    counts: Sequence[int]
    """Number of events in each cell."""
    total: int
    """Number of events in all cells."""


class ChartPicture(NamedTuple):
    """Content of a time line."""

    title: str
    """Kind of the lanes: `by event`."""
    ticks: Sequence[RulerTick]
    every: ChartLane
    """All events."""
    lanes: Sequence[ChartLane]
    heads: Mapping[int, str]
    """Heading above some lanes, by their numbers, from 1."""
    losses: Sequence[bool]
    """Cells at whose events some before were lost."""
    gaps: Sequence[bool]
    """Cells between the last event before a loss and the first one after it."""
    outages: Sequence[bool]
    """Cells in which the connection was lost."""
    cursor: int
    """Cell of the cursor; outside of the cells: it is not in the picture."""
    row: int
    """Lane of the cursor, from 1; 0: the graph of all events."""
    selected: range
    """Cells that are selected."""


class ChartLayout(NamedTuple):
    """Room of the parts of a time line."""

    names: int
    """Columns of the names, with a blank behind them."""
    cells: int
    graph: int
    """Lines of the graph of all events."""
    gaps: int
    """Lines of the losses: 1, or 0."""
    lanes: int
    """Lines for lanes."""
    height: int = 1
    """Lines of each lane."""
    heads: tuple[int, ...] = ()
    """Lanes, from 1, above which a heading stands."""

    @classmethod
    def of(cls, columns: int, lines: int, *, gaps: bool) -> ChartLayout:
        """Return the layout for a size; `gaps`: there are losses."""
        names = min(max(columns * 3 // 10, 8), 36)
        graph = min(max(lines // 6, 1), 8)
        rest = max(0, lines - _FIXED - graph - gaps)
        return cls(names, max(1, columns - names), graph, int(gaps), rest)

    def for_lanes(self, number: int, heads: Iterable[int] = ()) -> ChartLayout:
        """Return the layout in which so many lanes, with headings above some of them, use the room."""
        heads = tuple(heads)
        height = (self.lanes - len(heads)) // max(number, 1)
        return self._replace(height=min(max(height, 1), _TALLEST), heads=heads)

    def row_at(self, line: int) -> int | None:
        """Return the lane at a line, from 1, or 0 for the graph; None: there is none."""
        if line < _FIXED:
            return None
        if line < _FIXED + self.graph:
            return 0
        row, left = 0, line - _FIXED - self.graph - self.gaps
        while left >= 0:
            row += 1
            if row in self.heads:
                left -= 1
                if left < 0:
                    return None
            left -= self.height
        return row or None


def level_of(count: int, most: int, highest: int = _HIGHEST) -> int:
    """Return the level of a count from 0 to `highest`, by its logarithm; 0 only for no event at all."""
    if count <= 0:
        return 0
    return max(1, min(highest, round(highest * math.log1p(count) / math.log1p(max(most, 1)))))


class ChartLines:
    """Lines of a picture."""

    def __init__(self, picture: ChartPicture, layout: ChartLayout) -> None:
        self.picture = picture
        self.layout = layout
        self._ticks = {tick.cell for tick in picture.ticks}
        self._most = max((max(lane.counts, default=0) for lane in picture.lanes), default=0)
        """Most events in a cell of a lane."""
        self._levels: dict[int, int] = {}
        self.lines = [self._ruler(), *self._graph(), *self._gaps(), *self._lanes()]
        """Pieces of each line; their looks are keys of `widgets.timeline.chart.LOOKS`, words apart by blanks."""

    def _ruler(self) -> list[Piece]:
        text = ruler_text(list(self.picture.ticks), self.layout.cells)
        cursor = self.picture.cursor
        looks = ["ruler"] * len(text)
        if 0 <= cursor < len(text):
            text, looks[cursor] = text[:cursor] + _HERE + text[cursor + 1 :], "key"
        return [*self._name(self.picture.title, "", "title"), *self._cells(text, looks, None)]

    def _graph(self) -> list[list[Piece]]:
        every, graph = self.picture.every, self.layout.graph
        most = max(every.counts, default=0)
        levels = [level_of(count, most, _HIGHEST * graph) for count in every.counts]
        notes = ["all", f"█ {short(most)} a cell", "logarithmic", *[""] * graph]
        lines = []
        for number, text in enumerate(_stacked(levels, graph)):
            names = self._name(notes[number], "" if number else short(every.total), "dim" if number else "name", 0)
            lines.append([*names, *self._row(text, ["all"] * len(text), 0)])
        return lines

    def _gaps(self) -> list[list[Piece]]:
        if not self.layout.gaps:
            return []
        picture = self.picture
        masks = zip(picture.losses, picture.gaps, picture.outages, strict=True)
        text = "".join(_LOSS if lost else _CUT if out else _GAP if gap else " " for lost, gap, out in masks)
        looks = ["lost" if char != " " else "" for char in text]
        return [[*self._name("lost", "", "lost"), *self._row(text, looks, None)]]

    def _lanes(self) -> list[list[Piece]]:
        height = self.layout.height
        lines = []
        for row, lane in enumerate(self.picture.lanes, 1):
            if row in self.picture.heads:
                text = " " * self.layout.cells
                lines.append(
                    [*self._name(self.picture.heads[row], "", "title"), *self._row(text, [""] * len(text), None)]
                )
            levels = [self._level(count) for count in lane.counts]
            looks = [_look(level, self._highest) for level in levels]
            for number, text in enumerate(_stacked(levels, height), 1):
                has_name = number == height
                name = self._name(lane.name if has_name else "", short(lane.total) if has_name else "", "lane", row)
                lines.append([*name, *self._row(text, looks, row)])
        return lines[: self.layout.lanes]

    @property
    def _highest(self) -> int:
        """Level of the most events in a cell of a lane; an eighth of a line is left free between lanes."""
        return _HIGHEST * self.layout.height - 1

    def _level(self, count: int) -> int:
        if count not in self._levels:
            self._levels[count] = level_of(count, self._most, self._highest)
        return self._levels[count]

    def _name(self, name: str, count: str, look: str, row: int | None = None) -> list[Piece]:
        room = self.layout.names - 2
        wide = max(0, room - (_COUNT if count else 0))
        name = _in_columns(name, wide)
        blanks = " " * (wide - width(name))
        is_chosen = row == self.picture.row
        tail = f"{count:>{_COUNT}} " if count else " "
        return [
            Piece("▌" if is_chosen else " ", "key"),
            Piece(name + blanks, look + " chosen" * is_chosen),
            Piece(tail, "count"),
        ]

    def _row(self, text: str, looks: list[str], row: int | None) -> list[Piece]:
        """Return cells with the lines below the times, and what is cut off, where they are empty."""
        chars, looks, outages = list(text), list(looks), self.picture.outages
        for cell, char in enumerate(chars):
            if char == " " and outages[cell]:
                chars[cell], looks[cell] = _CUT, "outage"
            elif char == " " and cell in self._ticks:
                chars[cell], looks[cell] = _GRID, "grid"
            elif char == " ":
                looks[cell] = ""
        return self._cells("".join(chars), looks, row)

    def _cells(self, text: str, looks: list[str], row: int | None) -> list[Piece]:
        picture = self.picture
        marked = [f"{look} selected" if cell in picture.selected else look for cell, look in enumerate(looks)]
        if 0 <= picture.cursor < len(marked):
            marked[picture.cursor] = f"{looks[picture.cursor]} {'cursor' if row == picture.row else 'column'}"
        pieces, at = [], 0
        for look, group in groupby(marked):
            after = at + sum(1 for _ in group)
            pieces.append(Piece(text[at:after], look.strip()))
            at = after
        return pieces


def _stacked(levels: Sequence[int], lines: int) -> list[str]:
    """Return the bars of some levels in so many lines, the highest first."""
    return ["".join(LEVELS[min(max(level - below, 0), _HIGHEST)] for level in levels)
            for below in range(_HIGHEST * (lines - 1), -1, -_HIGHEST)]  # fmt: skip


def _look(level: int, highest: int) -> str:
    """Return the look of a cell of a lane."""
    return "low" if 2 * level <= highest else "mid" if 5 * level <= 4 * highest else "high"


def _in_columns(name: str, columns: int) -> str:
    """Return a name in so many columns, without its middle where it is longer: its end may be what differs."""
    tail = columns // 3
    if width(name) <= columns or not name.isascii() or not tail:
        return cut(name, columns)
    return cut(name, columns - tail) + name[-tail:]
