"""Lines of a time line for one size of the screen: a ruler, a graph of all events, and a line for each lane. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Final, NamedTuple

from widgets.number_format import short
from widgets.rows import Piece
from widgets.safe_text import cut, width
from widgets.timeline.ruler import Tick, ruler_text

LEVELS: Final = " ▁▂▃▄▅▆▇█"
"""Densities of a cell."""
_HIGHEST: Final = 8
_MID: Final = 4
_HIGH: Final = 7
"""Levels from which a cell has another look."""
_GRID: Final = "┊"
_CUT: Final = "░"
"""Stands in cells without an event while a connection was lost."""
_LOSS: Final = "✗"
_COUNT: Final = 6
"""Columns of the number of a lane's events, with a blank before it."""
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
    ticks: Sequence[Tick]
    every: ChartLane
    """All events."""
    lanes: Sequence[ChartLane]
    losses: Sequence[bool]
    """Cells in which events were lost; empty: in none."""
    outages: Sequence[bool]
    """Cells in which the connection was lost; empty: in none."""
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

    @classmethod
    def of(cls, columns: int, lines: int, *, gaps: bool) -> ChartLayout:
        """Return the layout for a size; `gaps`: there are losses."""
        names = min(max(columns // 4, 8), 36)
        graph = min(max(lines // 6, 1), 8)
        rest = max(0, lines - _FIXED - graph - gaps)
        return cls(names, max(1, columns - names), graph, int(gaps), rest)

    def row_at(self, line: int) -> int | None:
        """Return the lane at a line, from 1, or 0 for the graph; None: there is none."""
        if line < _FIXED:
            return None
        if line < _FIXED + self.graph:
            return 0
        row = line - _FIXED - self.graph - self.gaps
        return row + 1 if row >= 0 else None


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
        return [*self._name(self.picture.title, "", "title"), *self._cells(text, ["ruler"] * len(text), None)]

    def _graph(self) -> list[list[Piece]]:
        every, graph = self.picture.every, self.layout.graph
        most = max(every.counts, default=0)
        levels = [level_of(count, most, _HIGHEST * graph) for count in every.counts]
        notes = ("all", f"█ {short(most)} a cell", "logarithmic")
        lines = []
        for number in range(graph):
            below = _HIGHEST * (graph - 1 - number)
            parts = [min(max(level - below, 0), _HIGHEST) for level in levels]
            text = "".join(LEVELS[part] for part in parts)
            names = (
                self._name(notes[0], short(every.total), "name", is_cursor=self.picture.row == 0)
                if not number
                else self._name(notes[number] if number < len(notes) else "", "", "dim")
            )
            lines.append([*names, *self._row(text, ["all" if part else "" for part in parts], 0)])
        return lines

    def _gaps(self) -> list[list[Piece]]:
        if not self.layout.gaps:
            return []
        cells = self.layout.cells
        losses = self.picture.losses or [False] * cells
        outages = self.picture.outages or [False] * cells
        text = "".join(
            _LOSS if lost else _CUT if cut_off else " " for lost, cut_off in zip(losses, outages, strict=True)
        )
        looks = ["lost" if char != " " else "" for char in text]
        return [[*self._name("lost", "", "lost"), *self._row(text, looks, None)]]

    def _lanes(self) -> list[list[Piece]]:
        return [
            [
                *self._name(lane.name, short(lane.total), "lane", is_cursor=self.picture.row == row),
                *self._row(*self._lane(lane), row),
            ]
            for row, lane in enumerate(self.picture.lanes, 1)
        ][: self.layout.lanes]

    def _lane(self, lane: ChartLane) -> tuple[str, list[str]]:
        levels = [self._level(count) for count in lane.counts]
        text = "".join(LEVELS[level] for level in levels)
        looks = [
            "" if not level else "low" if level < _MID else "mid" if level < _HIGH else "high" for level in levels
        ]
        return text, looks

    def _level(self, count: int) -> int:
        if count not in self._levels:
            self._levels[count] = level_of(count, self._most)
        return self._levels[count]

    def _name(self, name: str, count: str, look: str, *, is_cursor: bool = False) -> list[Piece]:
        room = self.layout.names - 2
        wide = max(0, room - (_COUNT if count else 0))
        name = cut(name, wide)
        blanks = " " * (wide - width(name))
        mark = "▌" if is_cursor else " "
        tail = f"{count:>{_COUNT}} " if count else " "
        return [Piece(mark, "key"), Piece(name + blanks, look + " chosen" * is_cursor), Piece(tail, "count")]

    def _row(self, text: str, looks: list[str], row: int | None) -> list[Piece]:
        """Return cells with the lines below the times, and what is cut off, where they are empty."""
        chars, outages = list(text), self.picture.outages
        for cell, char in enumerate(chars):
            if char == " " and outages and outages[cell]:
                chars[cell], looks[cell] = _CUT, "outage"
            elif char == " " and cell in self._ticks:
                chars[cell], looks[cell] = _GRID, "grid"
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
