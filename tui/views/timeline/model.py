"""Lanes of a watch's events and their counts in a window of time. Imports no screen code."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from events.clocks.boots import ID_MASK
from events.names.event_names import event_name
from events.store.outage_mark import task_text
from events.text import UNNAMED
from events.timeline.axis import TimeAxis
from events.timeline.gap_cells import GapCells
from events.timeline.lane_index import LaneIndex, LaneKind
from foreign.count_text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from events.record import Record
    from events.search.filtered_rows import FilteredRows
    from events.store.columns import Ints
    from events.store.store import Store
    from events.timeline.time_window import TimeWindow

_PIECE: Final = 1 << 20
"""Rows whose kinds are counted at once."""


class LaneRow(NamedTuple):
    """Events of one lane, or of several together, in each cell of a window."""

    name: str
    """Foreign text."""
    keys: tuple[int, ...] | None
    """Keys in `events.timeline.lane_index.LaneIndex.lanes`; None: all events."""
    counts: Ints
    total: int


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

    def __init__(self, store: Store, kind: LaneKind, passing: FilteredRows | None = None) -> None:
        self.store = store
        self.index = LaneIndex(store, kind, passing)

    @property
    def kind(self) -> LaneKind:
        """Property by which events are in lanes."""
        return self.index.kind

    @property
    def passing(self) -> FilteredRows | None:
        """Events that pass the filter; None: there is none."""
        return self.index.passing

    def gaps(self, axis: TimeAxis) -> GapCells:
        """Return the losses and outages."""
        return GapCells(self.store, axis, self.index)

    def shot(self, axis: TimeAxis, window: TimeWindow, room: int, gaps: GapCells) -> TimelineShot:
        """Return the counts in the cells of a window, in at most so many lanes, and its gaps."""
        rows = axis.rows(window.edges)
        totals = self.index.totals(rows)
        every = LaneRow("all", None, totals, int(totals.sum()))
        return TimelineShot(window, axis, rows, every, self._lanes(rows, totals, room), gaps)

    def _lanes(self, rows: Ints, totals: Ints, room: int) -> list[LaneRow]:
        ends = rows[[0, -1]]
        named = [(name, keys, int(self.index.counts(keys, ends)[0])) for name, keys in self._named().items()]
        named.sort(key=lambda lane: (-lane[2], lane[1]))
        rest = named[max(0, room - 1) :] if len(named) > room else []
        shown = named[: len(named) - len(rest)]
        if self.kind is LaneKind.CPU:
            shown.sort(key=lambda lane: lane[1])
        lanes = [LaneRow(name, keys, self.index.counts(keys, rows), total) for name, keys, total in shown]
        if rest and room > 0:
            others = totals - sum((lane.counts for lane in lanes), np.zeros_like(totals))
            keys = tuple(key for _, own, _ in rest for key in own)
            lanes.append(LaneRow(counted(len(rest), "other"), keys, others, int(others.sum())))
        return lanes

    def _named(self) -> dict[str, tuple[int, ...]]:
        """Return the keys of each lane by its name: an event that was armed again has several."""
        found: dict[str, tuple[int, ...]] = {}
        for key in self.index.lanes:
            name = self._name(key)
            found[name] = (*found.get(name, ()), key)
        return found

    def _name(self, key: int) -> str:
        if self.kind is LaneKind.EVENT:
            return event_name(self.store.event(key))
        if self.kind is LaneKind.CPU:
            return f"CPU {key}"
        if key < 0:
            return "no task"
        boot, pid = key >> 32, key & ID_MASK
        name = self.store.comm(key)
        name = self.index.text_names.get(key, name) if name == UNNAMED else name
        return task_text(name, pid, "") + (f" boot {boot + 1}" if boot and len(self.store.clock_resets) else "")

    # -- a cell ------------------------------------------------------------------------------------------------------

    def first_place(self, axis: TimeAxis, lane: LaneRow | None, start: int, end: int) -> int | None:
        """Return the place of the first event of a lane from a place to before another; None: there is none."""
        seq = self.first(axis, lane, start, end)
        return None if seq is None else axis.place(seq)

    def first(self, axis: TimeAxis, lane: LaneRow | None, start: int, end: int) -> int | None:
        """Return the row of the first event of a lane from a place to before another; None: there is none."""
        first, stop = axis.rows(np.array([start, end], np.int64)).tolist()
        return self.index.first(lane.keys if lane is not None else None, first, stop)

    def beside(self, axis: TimeAxis, lane: LaneRow | None, start: int, end: int, direction: int) -> int | None:
        """Return the row of the nearest event of a lane after an interval (1), or before it (-1); None: none."""
        first, stop = axis.rows(np.array([start, end], np.int64)).tolist()
        keys = lane.keys if lane is not None else None
        if direction > 0:
            return self.index.first(keys, stop, self.store.next_seq)
        return self.index.last_before(keys, first)

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
            seqs = self.index.seqs(lane.keys if lane is not None else None, at, until)
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
