"""View of all events on a line of time, in lanes by event, CPU, task or function."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Final

from foreign.count_text import counted
from tui.filter.filter import Filter, PassCount
from tui.present.status import note_of
from tui.present.watched_events import function_source
from tui.views.late_picture import LatePicture
from tui.views.timeline.navigation import TimelineNavigation
from tui.views.timeline.pane import TimelinePane
from tui.views.timeline.steering import TimelineSteering
from tui.views.view import View, ViewPlace
from widgets.call_after import call_after
from widgets.events.times import Stamp, kernel_stamp
from widgets.number_format import duration

if TYPE_CHECKING:
    from textual.timer import Timer
    from textual.widget import Widget

    from events.record import Record
    from events.store.store import Store
    from events.timeline.lane_index import LaneKind
    from kernel.watch.watch import Watch
    from tui.views.timeline.lanes import FunctionNames, LaneRow
    from tui.views.timeline.model import TimelineModel, TimelineShot

_COUNTING: Final = 0.01
"""Seconds for counting at once."""
_SOON: Final = 0.01
_DRAWING: Final = 0.2
"""Seconds between two updates of the screen."""
_SHARE: Final = 8
"""Greatest share of the time that making a picture takes: one part in so many."""
_MANY: Final = 1 << 18
"""Events that are still to be counted from which on their number is told."""


def _function_names(watch: Watch) -> FunctionNames:
    """Return the names of functions that events of a watch are on."""
    from tui.views.timeline.lanes import FunctionNames

    fields, of_event = watch.event_fields, function_source(watch)
    return FunctionNames(lambda address, boot: fields.namer(boot).function(address), of_event)


class TimelineView(View):
    """View with a `TimelineChart`."""

    name: ClassVar[str] = "timeline"
    pane: TimelinePane

    def __init__(self, chosen: Filter) -> None:
        super().__init__(chosen)
        self.pane = TimelinePane(self.name)
        self.navigation = TimelineNavigation()
        self.model: TimelineModel | None = None
        """Events by lane; None: there is no store yet."""
        self.watch: Watch | None = None
        self.shot: TimelineShot | None = None
        """Counts on the screen; None: there is no event yet."""
        self.lane = ""
        """Kind and name of the lane of the cursor; empty: all events."""
        self._kind: LaneKind | None = None
        self._stamp: Stamp = kernel_stamp
        self._drawn = self._cost = 0.0
        self._next_picture = LatePicture(self.pane, self.draw)
        self._next_count: Timer | None = None
        self._wanted: tuple[Store, int] | None = None
        """Store and row that the cursor goes to with the next picture; None: it stays."""
        self.pane.resized = self.draw
        self.pane.steering = TimelineSteering(self)

    @property
    def focus(self) -> Widget:
        """Chart, which takes the keys."""
        return self.pane.chart

    # -- events ------------------------------------------------------------------------------------------------------

    def tick(self, watch: Watch, store: Store, fields: tuple[str, ...]) -> bool:  # noqa: ARG002 - of every view
        """Count new events; work that takes longer goes on in later ticks."""
        passing = self.filter.of(watch, store)
        model = self.model
        if model is None or model.store is not store or model.passing is not passing:
            from events.timeline.lane_index import LaneKind  # imports numpy
            from tui.views.timeline.model import TimelineModel

            self._kind = self._kind or LaneKind.EVENT
            model = self.model = TimelineModel(store, self._kind, passing, _function_names(watch))
            self._drawn = 0.0
        self.watch = watch
        model.tick(_COUNTING)
        wait = self._drawn + max(_DRAWING, _SHARE * self._cost) - time.monotonic()
        if wait <= 0:
            self.draw()
        elif not model.backlog:
            self._next_picture.due(wait)
        return model.backlog > 0  # a picture may have wanted other lanes

    def follow(self) -> None:
        """Go to the end of the time, and follow it, if the picture is held."""
        if not self.navigation.following:
            self.navigation.follow()

    def go_on(self) -> None:
        """Count and show at once: an ended recording triggers no more ticks."""
        watch = self.watch
        if watch is None or watch.store is None:
            return
        if self.tick(watch, watch.store, ()):
            self._go_on_soon()

    def _go_on_soon(self) -> None:
        if self._next_count is None:
            self._next_count = call_after(self.pane, _SOON, self._go_on)

    def _go_on(self) -> None:
        self._next_count = None
        self.go_on()

    def turn_lanes(self) -> None:
        """Have lanes by the next property."""
        if self.model is not None:
            self._kind = self.model.kind = self.model.kind.after
            self.lane = ""
            self.go_on()

    def point_to(self, store: Store, seq: int) -> None:
        """Put the cursor on an event with the next picture."""
        self._wanted = (store, seq)
        self.lane = ""  # the event may be in no lane that is shown
        self._drawn = 0.0

    def draw(self) -> None:
        """Show the counts as they are now."""
        self._next_picture.drop()
        from events.timeline.axis import TimeAxis
        from tui.views.timeline.text import heads_of, picture_of
        from widgets.timeline.chart_lines import ChartLayout, ChartLines

        model, chart = self.model, self.pane.chart
        axis = TimeAxis(model.store) if model is not None else None
        if model is None or axis is None or not axis.parts or not chart.size:
            self.shot = None
            chart.show((), chart.chart_layout)
            self.pane.show_about(("", "", ""))
            return
        began = time.monotonic()
        gaps = model.gaps(axis)
        layout = ChartLayout.of(chart.size.width, chart.size.height, gaps=bool(gaps))
        self.navigation.fit(axis.start, axis.end, layout.cells)
        if self._wanted is not None:
            (store, seq), self._wanted = self._wanted, None
            if store is model.store and seq >= store.first_seq:
                self.navigation.go_to(axis.place(seq))
        self.shot = model.shot(axis, self.navigation.window, layout.lanes, gaps)
        layout = layout.for_lanes(len(self.shot.lanes), heads_of(self.shot.lanes))
        picture = picture_of(self.shot, self.navigation, f"by {model.kind}", self.row)
        chart.show(ChartLines(picture, layout).lines, layout)
        self._show_about(model, self.shot)
        if model.backlog:  # lanes that had no room before
            self._go_on_soon()
        self._drawn = time.monotonic()
        self._cost = self._drawn - began

    def _show_about(self, model: TimelineModel, shot: TimelineShot) -> None:
        from tui.views.timeline.text import cell_lines

        if self.watch is None:
            return
        found = self.navigation.selection
        interval = found or self.navigation.cell_interval
        is_selection = found is not None
        lines = cell_lines(
            model, self.watch, shot, self.lane_row, interval, self._stamp, self.event_row, is_selection=is_selection
        )
        self.pane.show_about(lines)

    # -- lanes -------------------------------------------------------------------------------------------------------

    @property
    def row(self) -> int:
        """Lane of the cursor, from 1; 0: all events, also where the lane is not shown any more."""
        lanes = self.shot.lanes if self.shot is not None else []
        return next((row for row, lane in enumerate(lanes, 1) if _identity(lane) == self.lane), 0)

    @property
    def lane_row(self) -> LaneRow | None:
        """Events of the lane of the cursor; None: all events."""
        row = self.row
        return self.shot.lanes[row - 1] if row and self.shot is not None else None

    def choose_row(self, row: int) -> None:
        """Put the cursor on a lane, or the nearest one."""
        lanes = self.shot.lanes if self.shot is not None else []
        row = min(max(row, 0), len(lanes))
        self.lane = _identity(lanes[row - 1]) if row else ""

    # -- of every view -----------------------------------------------------------------------------------------------

    def forget(self) -> None:
        """Clear the chart; what is chosen for lanes stays."""
        self.model = self.shot = self._wanted = None
        self.lane = ""
        self.navigation.show_all()
        self.navigation.select_none()
        self.draw()

    def show_times(self, stamp: Stamp) -> None:
        """Format the times of the cell in another way."""
        self._stamp = stamp
        if self.shot is not None:
            self.draw()

    def names_changed(self) -> None:
        """Show new names of tasks."""
        if self.watch is not None:
            self.filter.names_changed(self.watch)
            self.go_on()

    @property
    def place(self) -> ViewPlace:
        """Position of the window, with the number of events in it."""
        shot = self.shot
        if shot is None:
            return ViewPlace()
        is_part = self.navigation.is_part or bool(self.filter.text)
        return ViewPlace(
            self.navigation.following, row_count=shot.every.total, total=self.filtered.of if is_part else 0
        )

    @property
    def filtered(self) -> PassCount:
        """Number of events that pass, and of all events in memory."""
        model = self.model
        if model is None:
            return PassCount(0, 0)
        passing = model.passing
        marks = len(model.index.marks)
        every = len(model.store) - marks
        number = passing.next - passing.first - marks if passing is not None else every
        return PassCount(max(0, number), every, "event", passing.backlog if passing is not None else 0)

    def note(self, watch: Watch) -> str:
        """Return the time that is shown, what is still counted, then the note on the events."""
        model, window = self.model, self.navigation.window
        if model is None or self.shot is None:
            return note_of(watch)
        whole = duration(self.navigation.bounds.end - self.navigation.bounds.start)
        shown = f"{duration(window.span)} of {whole}" if self.navigation.is_part else whole
        behind = model.backlog
        counting = f"{counted(behind, 'event')} to count" if behind >= _MANY else ""
        return ", ".join(filter(None, (counting, shown, note_of(watch))))

    def record_under_cursor(self, store: Store) -> Record | None:
        """Return the event of the cell, see `event_row`."""
        model, shot = self.model, self.shot
        if model is None or shot is None or model.store is not store or self.navigation.following:
            return None
        seq = self.event_row
        return model.record(seq) if seq is not None else None

    @property
    def event_row(self) -> int | None:
        """Row of the event that the cursor was put on, else of the first one of the cell; of a selected interval the
        first. None: there is none.
        """
        model, shot, navigation = self.model, self.shot, self.navigation
        if model is None or shot is None:
            return None
        start, end = navigation.selection or navigation.cell_interval
        if navigation.selection is None:
            found = model.first(shot.axis, self.lane_row, max(start, navigation.cursor), end)
            if found is not None:
                return found
        return model.first(shot.axis, self.lane_row, start, end)


def _identity(lane: LaneRow) -> str:
    return f"{lane.kind} {lane.name}"
