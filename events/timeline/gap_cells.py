"""Find the cells of a time line in which events are missing: losses of ring buffers, and outages of a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from events.store.outage_mark import outage_of_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from events.store.columns import Ints, Mask
    from events.store.store import Store
    from events.timeline.axis import TimeAxis
    from events.timeline.lane_index import LaneIndex
    from events.timeline.time_window import TimeWindow

_MOST: Final = (1 << 63) - 1


class GapSpan(NamedTuple):
    """Outage on the axis of a time line."""

    start: int
    end: int
    """Place at which events come again; the end of the axis if they never did."""
    text: str
    """Description for people."""


class GapCells:
    """Losses and outages of a store at one moment."""

    def __init__(self, store: Store, axis: TimeAxis, index: LaneIndex) -> None:
        losses = list(store.losses.after(0))
        places = np.array([min(loss.ts + axis.shift(loss.seq), _MOST) for loss in losses], np.int64)
        order = np.argsort(places, kind="stable")
        self._places: Ints = places[order]
        """Places of the first events after losses, rising."""
        self._losses = [losses[number] for number in order.tolist()]
        self._spans = [
            (max(start + part.shift, part.start), end + part.shift)
            for part in axis.parts
            for start, end in store.loss_spans.at(part.first).gaps.spans()
        ]
        self.outages = [span for seq in index.marks if (span := _outage(store, axis, seq)) is not None]

    def __bool__(self) -> bool:
        return bool(self._losses) or bool(self.outages) or bool(self._spans)

    def losses(self, window: TimeWindow) -> Ints:
        """Return the number of losses in each cell."""
        return np.diff(np.searchsorted(self._places, window.edges))

    def outage_cells(self, window: TimeWindow) -> Mask:
        """Return a mask of the cells that are within an outage, wholly or in part."""
        return _covered(window, [(span.start, span.end) for span in self.outages])

    def gap_cells(self, window: TimeWindow) -> Mask:
        """Return a mask of the cells in which events may be missing, for losses of any kind."""
        return _covered(window, self._spans)

    def texts(self, start: int, end: int) -> list[str]:
        """Return descriptions of the outages and losses from a place to before another: `12 lost on CPU 1`."""
        found = [span.text for span in self.outages if span.start < end and span.end > start]
        first, after = np.searchsorted(self._places, (start, min(end, _MOST))).tolist()
        by_cpu: dict[int, tuple[int, bool]] = {}
        for loss in self._losses[first:after]:
            number, unknown = by_cpu.get(loss.cpu, (0, False))
            by_cpu[loss.cpu] = (number + max(loss.number, 0), unknown or loss.number < 0)
        for cpu, (number, unknown) in sorted(by_cpu.items()):
            more = "more than " if unknown and number else ""
            found.append(f"{more}{number:,} lost on CPU {cpu}" if number else f"some lost on CPU {cpu}")
        return found


def _covered(window: TimeWindow, spans: Sequence[tuple[int, int]]) -> Mask:
    """Return a mask of the cells that are within some spans, wholly or in part."""
    if not spans:
        return np.zeros(window.cells, np.bool_)
    starts = np.array([min(start, _MOST) for start, _ in spans], np.int64)
    ends = np.array([min(max(end - 1, start), _MOST) for start, end in spans], np.int64)
    edges = window.edges
    first, last = (np.searchsorted(edges, places, "right") - 1 for places in (starts, ends))
    inside = (last >= 0) & (first < window.cells)
    changes = np.zeros(window.cells + 1, np.int64)
    np.add.at(changes, np.maximum(first[inside], 0), 1)
    np.add.at(changes, np.minimum(last[inside], window.cells - 1) + 1, -1)
    found: Mask = np.cumsum(changes)[:-1] > 0
    return found


def _outage(store: Store, axis: TimeAxis, seq: int) -> GapSpan | None:
    outage = outage_of_record(store.record(seq)) if seq >= store.first_seq else None
    if outage is None:
        return None
    start = axis.place(seq)
    lasting = 0 if outage.booted else max(0, int(outage.seconds * 1e9))
    return GapSpan(start, axis.end if outage.for_good else start + max(1, lasting), outage.text)
