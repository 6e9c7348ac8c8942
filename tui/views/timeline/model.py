"""Lanes of a watch's events and their counts in a window of time. Imports no screen code."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from events.names.event_names import event_name
from events.timeline.axis import TimeAxis
from events.timeline.gap_cells import GapCells
from events.timeline.lane_index import LaneIndex, LaneKind
from tui.views.timeline.lanes import FunctionNames, LaneGroup, LaneRow

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from events.record import Record
    from events.search.filtered_rows import FilteredRows
    from events.store.columns import Ints
    from events.store.store import Store
    from events.timeline.time_window import TimeWindow

_LEAST: Final = 4
"""Lines from which lanes of another kind are shown: a heading and some lanes."""
_PIECE: Final = 1 << 20
"""Rows whose kinds are counted at once."""


class TimelineShot(NamedTuple):
    """Counts of one moment."""

    window: TimeWindow
    axis: TimeAxis
    rows: Ints
    """First row of the store at each edge of the cells."""
    every: LaneRow
    lanes: list[LaneRow]
    gaps: GapCells


class TimelineModel:
    """Events of a store that pass a filter, by lane, as they come."""

    def __init__(
        self,
        store: Store,
        kind: LaneKind,
        passing: FilteredRows | None = None,
        names: FunctionNames | None = None,
    ) -> None:
        """Take the property by which events are in the first lanes, and names for those by function."""
        self.store = store
        self._names = names
        self.kind = kind
        self.passing = passing
        self._groups: dict[LaneKind, LaneGroup] = {}
        """Lanes of each kind that were shown."""

    def group(self, kind: LaneKind) -> LaneGroup:
        """Return the lanes of a kind, which are filled by later ticks where nobody wanted them before."""
        if kind not in self._groups:
            self._groups[kind] = LaneGroup(self.store, kind, self.passing, self._names)
        return self._groups[kind]

    @property
    def index(self) -> LaneIndex:
        """Rows of the first lanes."""
        return self.group(self.kind).index

    @property
    def backlog(self) -> int:
        """Number of rows that are not in the lanes yet, of the kind with the most."""
        return max(self.index.backlog, *(group.index.backlog for group in self._groups.values()))

    def tick(self, budget: float) -> None:
        """Add new rows for about `budget` seconds, to the first lanes before the others."""
        self.index.tick(budget)
        others = [group.index for kind, group in self._groups.items() if kind is not self.kind]
        for index in others:
            if not self.index.backlog:
                index.tick(budget / len(others))

    def gaps(self, axis: TimeAxis) -> GapCells:
        """Return the losses and outages."""
        return GapCells(self.store, axis, self.index)

    def shot(self, axis: TimeAxis, window: TimeWindow, room: int, gaps: GapCells) -> TimelineShot:
        """Return the counts in the cells of a window, in lanes for so many lines, and its gaps.

        Lanes of other kinds are below those of the first, each kind below a heading, as long as there is room; those
        of functions, which are much like those of events, only where they come first.
        """
        rows = axis.rows(window.edges)
        totals = self.index.totals(rows)
        every = LaneRow("all", None, None, totals, int(totals.sum()))
        lanes = self.group(self.kind).lanes(rows, room)
        left = room - len(lanes)
        for kind in LaneKind:  # tasks last, as they take all the room
            if kind not in (self.kind, LaneKind.FUNCTION) and left >= _LEAST:
                more = self.group(kind).lanes(rows, left - 1)
                lanes += more
                left -= 1 + len(more)
        return TimelineShot(window, axis, rows, every, lanes, gaps)

    def _index_of(self, lane: LaneRow | None) -> LaneIndex:
        return self.index if lane is None or lane.kind is None else self.group(lane.kind).index

    def clause(self, lane: LaneRow, own: Container[str]) -> str:
        """Return the condition for the events of a lane; see `LaneGroup.clause`. Raises ValueError."""
        if lane.kind is None:
            raise ValueError("all events")
        return self.group(lane.kind).clause(lane, own)

    # -- a cell ------------------------------------------------------------------------------------------------------

    def first_place(self, axis: TimeAxis, lane: LaneRow | None, start: int, end: int) -> int | None:
        """Return the place of the first event of a lane from a place to before another; None: there is none."""
        seq = self.first(axis, lane, start, end)
        return None if seq is None else axis.place(seq)

    def first(self, axis: TimeAxis, lane: LaneRow | None, start: int, end: int) -> int | None:
        """Return the row of the first event of a lane from a place to before another; None: there is none."""
        first, stop = axis.rows(np.array([start, end], np.int64)).tolist()
        return self._index_of(lane).first(lane.keys if lane is not None else None, first, stop)

    def beside(self, axis: TimeAxis, lane: LaneRow | None, start: int, end: int, direction: int) -> int | None:
        """Return the row of the nearest event of a lane after an interval (1), or before it (-1); None: none."""
        first, stop = axis.rows(np.array([start, end], np.int64)).tolist()
        index, keys = self._index_of(lane), lane.keys if lane is not None else None
        if direction > 0:
            return index.first(keys, stop, self.store.next_seq)
        return index.last_before(keys, first)

    def number(self, axis: TimeAxis, start: int, end: int) -> int:
        """Return the number of events from a place to before another."""
        return int(self.index.totals(axis.rows(np.array([start, end], np.int64)))[0])

    def kinds(self, axis: TimeAxis, lane: LaneRow | None, start: int, end: int) -> list[tuple[str, int]]:
        """Return the events of a lane from a place to before another by name, the most frequent first."""
        first, stop = axis.rows(np.array([start, end], np.int64)).tolist()
        first = max(first, self.store.first_seq)
        found: Counter[int] = Counter()
        for at in range(first, stop, _PIECE):
            until = min(at + _PIECE, stop)
            seqs = self._index_of(lane).seqs(lane.keys if lane is not None else None, at, until)
            ids = self.store.format_ids(at, until)
            numbers = np.bincount(ids[seqs - at]) if len(seqs) else np.zeros(0, np.int64)
            found.update({number: int(numbers[number]) for number in np.flatnonzero(numbers).tolist()})
        by_name = Counter[str]()
        for path, number in self.store.by_event(found).items():
            by_name[event_name(path)] += number
        return by_name.most_common()

    def record(self, seq: int) -> Record | None:
        """Return an event; None: it was dropped."""
        try:
            return self.store.record(seq)
        except IndexError:
            return None


def gap_masks(shot: TimelineShot) -> tuple[Sequence[bool], Sequence[bool], Sequence[bool]]:
    """Return masks of the cells with losses, of those between the events around one, and of those with outages."""
    gaps, window = shot.gaps, shot.window
    losses: list[bool] = (gaps.losses(window) > 0).tolist()
    between: list[bool] = gaps.gap_cells(window).tolist()
    outages: list[bool] = gaps.outage_cells(window).tolist()
    return losses, between, outages
