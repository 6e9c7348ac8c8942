"""Picture of the counts of a moment, and the lines about the cell under the cursor. Imports no screen code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from foreign.count_text import counted
from tui.present.value_text import ValueStyle
from tui.views.timeline.model import TimelineModel, TimelineShot, gap_masks
from widgets.number_format import duration, grouped
from widgets.safe_text import safe
from widgets.timeline.chart_lines import ChartLane, ChartPicture
from widgets.timeline.ruler import seconds_of, ticks_of

if TYPE_CHECKING:
    from kernel.watch.watch import Watch
    from tui.views.timeline.lanes import LaneRow
    from tui.views.timeline.navigation import Interval, TimelineNavigation
    from widgets.events.times import Stamp

_SHOWN: Final = 1000
"""Shortest interval, in nanoseconds, whose ends are shown apart."""
_KINDS: Final = 12
"""Kinds of events that are named for a cell; the others are counted."""


def heads_of(lanes: Sequence[LaneRow]) -> dict[int, str]:
    """Return the headings of lanes of other kinds than the first, by the number of the lane below, from 1."""
    kinds = [lane.kind for lane in lanes]
    changes = (row for row in range(1, len(kinds)) if kinds[row] != kinds[row - 1])
    return {row + 1: f"by {kinds[row]}" for row in changes}


def picture_of(shot: TimelineShot, navigation: TimelineNavigation, title: str, row: int) -> ChartPicture:
    """Return the picture of the counts of a moment; `row`: lane of the cursor, from 1; 0: all events."""
    window = shot.window
    ticks = [
        tick
        for part in shot.axis.parts
        if part.start < window.end and part.end >= window.start
        for tick in ticks_of(window.start, window.span, window.cells, window.cell, part.shift)
        if _is_within(window.edge(tick.cell), shot, part.start, part.end)
    ]
    losses, between, outages = gap_masks(shot)
    return ChartPicture(
        title,
        ticks,
        _chart_lane(shot.every),
        [_chart_lane(lane) for lane in shot.lanes],
        heads_of(shot.lanes),
        losses,
        between,
        outages,
        window.cell(navigation.cursor),
        row,
        navigation.selected_cells,
    )


def _is_within(place: int, shot: TimelineShot, start: int, end: int) -> bool:
    """Return whether a tick belongs to a clock's part of the axis; the last clock goes on behind its end."""
    is_last = end + 1 == shot.axis.end
    return start - shot.window.span // shot.window.cells <= place and (is_last or place <= end)


def _chart_lane(lane: LaneRow) -> ChartLane:
    return ChartLane(safe(lane.name), lane.counts.tolist(), lane.total)


def cell_lines(
    model: TimelineModel,
    watch: Watch,
    shot: TimelineShot,
    lane: LaneRow | None,
    found: Interval,
    stamp: Stamp,
    seq: int | None,
    *,
    is_selection: bool,
) -> list[str]:
    """Return three lines, foreign text, about an interval of a lane: its times and events, their kinds, an event.

    Args:
        model: events by lane.
        watch: watch whose events these are.
        shot: counts of the moment.
        lane: lane of the cursor; None: all events.
        found: the selected interval, or that of the cursor's cell.
        stamp: formats times.
        seq: row of the event that is told; None: none is.
        is_selection: True if a person selected the interval.
    """
    kinds = model.kinds(shot.axis, lane, *found)
    number, every = sum(count for _, count in kinds), model.number(shot.axis, *found)
    where = f", {grouped(number)} of {lane.name}" if lane is not None else ""
    head = (
        f"{'selected ' if is_selection else ''}{_interval_text(shot, found, stamp)}: {counted(every, 'event')}{where}"
    )
    gaps = shot.gaps.texts(*found)
    record = model.record(seq) if seq is not None else None
    first = ""
    if record is not None:
        text = ValueStyle(watch.event_fields).text(record, at_once=True)
        cpu = f" CPU {record.cpu}" if record.cpu >= 0 else ""
        first = f"{stamp(record.ts, record.seq)}{cpu} {text}"
    return [", ".join((head, *gaps)), _kinds_text(kinds), first]


def _interval_text(shot: TimelineShot, found: Interval, stamp: Stamp) -> str:
    """Return the times of an interval, and its length: `12.304117 to 12.305, 883 us`."""
    length = found.end - found.start
    if length < _SHOWN:
        begin = seconds_of(shot.axis.stamp(found.start)[0], 1)
        return f"{begin}, {duration(length)}"
    begin, end = (stamp(*shot.axis.stamp(place)) for place in found)
    return f"{begin} to {end}, {duration(length)}"


def _kinds_text(kinds: Sequence[tuple[str, int]]) -> str:
    named = [f"{name} {grouped(count)}" for name, count in kinds[:_KINDS]]
    rest = kinds[_KINDS:]
    more = [f"{grouped(sum(count for _, count in rest))} of {counted(len(rest), 'other kind')}"] if rest else []
    return ", ".join((*named, *more))
