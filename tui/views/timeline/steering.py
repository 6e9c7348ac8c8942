"""Keys and mouse of the time line: zoom, move, select, filter by time, and go to an event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from tui.messages import EventShown
from tui.views.events.filtered_pane import FilteredPane
from widgets.lists.tail_table import TailTable

if TYPE_CHECKING:
    from kernel.watch.watch import Watch
    from tui.filter.filter import Filter
    from tui.views.timeline.lanes import LaneRow
    from tui.views.timeline.model import TimelineModel, TimelineShot
    from tui.views.timeline.navigation import TimelineNavigation
    from tui.views.timeline.pane import TimelinePane

_HALF: Final = 0.5
_ALL_SHOWN: Final = "all of the time is shown: select an interval, zoom in, or go to a lane before"
_NOTHING_THERE: Final = "no event is in this interval: the filter stays as it is"


class SteeredView(Protocol):
    """A view of a time line, as keys and mouse change it."""

    filter: Filter
    navigation: TimelineNavigation
    pane: TimelinePane
    model: TimelineModel | None
    """Events by lane; None: there is no store yet."""
    watch: Watch | None
    shot: TimelineShot | None
    """Counts on the screen; None: there is no event yet."""

    @property
    def row(self) -> int:
        """Lane of the cursor, from 1; 0: all events."""

    @property
    def event_row(self) -> int | None:
        """Row of the event of the cell or of the selected interval; None: there is none."""

    @property
    def lane_row(self) -> LaneRow | None:
        """Events of that lane; None: all events."""

    def choose_row(self, row: int) -> None:
        """Put the cursor on a lane, or the nearest one."""

    def turn_lanes(self) -> None:
        """Have lanes by the next property."""

    def draw(self) -> None:
        """Show the counts as they are now."""

    def go_on(self) -> None:
        """Count and show at once."""


class TimelineSteering:
    """Changes what a view shows as keys and mouse ask for."""

    def __init__(self, view: SteeredView) -> None:
        self._view = view

    def step(self, cells: int, lanes: int, *, extends: bool) -> None:
        """Move the cursor by cells and lanes, with the selection or without."""
        view = self._view
        if view.shot is None:
            return
        if lanes:
            view.navigation.hold()
            view.choose_row(view.row + lanes)
        if cells:
            view.navigation.step(cells, self._first_place, extend=extends)
        self._show()

    def point(self, row: int | None, begin: int | None, end: int | None) -> None:
        """Put the cursor on a cell (None: it stays) of a lane (None: the same), or select the cells between two."""
        view = self._view
        if view.shot is None:
            return
        if row is not None:
            view.choose_row(row)
        if begin is None or end is None:
            view.navigation.hold()
        elif begin == end:
            view.navigation.put(begin, self._first_place)
        else:
            view.navigation.select(begin, end)
        self._show()

    def zoom_at(self, cell: int, *, closer: bool) -> None:
        """Show half or twice the time, with a cell where it is."""
        navigation = self._view.navigation
        if self._view.shot is not None:
            navigation.zoom(_HALF if closer else 1 / _HALF, navigation.window.edge(cell))
            self._show()

    def act(self, action: str) -> None:
        """Do what a key of `widgets.timeline.chart.TimelineChart` asks for."""
        if self._view.shot is None:
            return
        navigation = self._view.navigation
        actions = {
            "in": navigation.zoom_in,
            "out": navigation.zoom_out,
            "all": navigation.show_all,
            "begin": navigation.to_begin,
            "end": navigation.follow,
            "none": navigation.select_none,
            "follow": navigation.hold if navigation.following else navigation.follow,
            "earlier": lambda: navigation.pan(-_HALF),
            "later": lambda: navigation.pan(_HALF),
            "next": lambda: self._go_beside(1),
            "before": lambda: self._go_beside(-1),
            "lanes": self._view.turn_lanes,
            "only": self._filter,
            "events": self._show_event,
        }
        actions[action]()
        self._show()

    def _show(self) -> None:
        """Show another part of the time, or another cursor."""
        view = self._view
        view.draw()
        view.pane.post_message(TailTable.Followed(view.navigation.following))

    def _first_place(self, start: int, end: int) -> int | None:
        model, shot = self._view.model, self._view.shot
        return model.first_place(shot.axis, self._view.lane_row, start, end) if model and shot else None

    def _go_beside(self, direction: int) -> None:
        """Go to the nearest cell with an event of the lane."""
        view = self._view
        if view.model is None or view.shot is None:
            return
        axis, interval = view.shot.axis, view.navigation.cell_interval
        seq = view.model.beside(axis, view.lane_row, *interval, direction)
        if seq is None:
            view.pane.notify(
                f"this lane has no event {'after' if direction > 0 else 'before'} this one", markup=False
            )
            return
        view.navigation.select_none()
        view.navigation.go_to(axis.place(seq))

    def _filter(self) -> None:
        """Show only events of the selected interval in all views; without one those of the lane of the cursor, else
        those that are on the screen. Another interval of the filter is replaced.
        """
        view = self._view
        lane, selected = view.lane_row, view.navigation.selection
        if view.shot is None or view.watch is None or view.model is None:
            return
        if selected is None and lane is not None:
            try:
                self._choose(view.filter.text, view.model.clause(lane, view.filter.sorts(view.watch)))
            except ValueError as error:
                view.pane.notify(f"no condition can be made of {error}", markup=False)
        elif selected is None and not view.navigation.is_part:
            view.pane.notify(_ALL_SHOWN, markup=False)
        else:
            self._filter_time(view.model, view.shot, *(selected or view.navigation.window_interval))

    def _filter_time(self, model: TimelineModel, shot: TimelineShot, start: int, end: int) -> None:
        from events.conditions.condition_parser import free_word
        from events.conditions.time_comparison import TIME, interval_clause, without_interval

        view = self._view
        first, (last, _) = shot.axis.stamp(start)[0], shot.axis.stamp(end - 1)
        if not model.number(shot.axis, start, end):
            view.pane.notify(_NOTHING_THERE, markup=False)
        elif last < first:
            view.pane.notify("the clock began again within this interval: select a part of it", markup=False)
        elif view.watch is not None:
            clause = interval_clause(free_word(TIME, view.filter.sorts(view.watch)), first, last + 1)
            self._choose(without_interval(view.filter.text), clause)

    def _choose(self, existing: str, clause: str) -> None:
        """Filter by another clause, too, in all views."""
        from events.conditions.condition_parser import ConditionError, and_condition

        view = self._view
        try:
            view.filter.choose(and_condition(existing, clause), view.watch)
        except ConditionError as error:
            view.pane.notify(f"no filter can be made of it: {error}", markup=False)
            return
        view.navigation.select_none()
        view.go_on()
        view.pane.post_message(FilteredPane.FilterChanged())

    def _show_event(self) -> None:
        """Ask to show the event of the cell among the events."""
        view = self._view
        if view.model is None or view.shot is None:
            return
        seq = view.event_row
        if seq is None:
            view.pane.notify("no event is in this cell", markup=False)
            return
        view.navigation.hold()
        view.pane.post_message(EventShown(seq))
