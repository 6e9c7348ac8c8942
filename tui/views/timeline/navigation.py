"""Part of the time that is shown, the cursor in it and the selected interval, moved by keys and mouse. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from events.timeline.time_window import TimeWindow

_ZOOM: Final = 0.5
_AWAY: Final = 0.25
"""Part of the window that is shown before a place which it is moved to."""

FirstPlace = Callable[[int, int], "int | None"]
"""Function that returns the place of the first event from a place to before another; None: there is none."""


class Interval(NamedTuple):
    """Interval of places on the axis."""

    start: int
    end: int


class TimelineNavigation:
    """State of a time line that a person steers."""

    def __init__(self) -> None:
        self.window = TimeWindow(0, 1, 1)
        self.bounds = Interval(0, 1)
        """All of the time."""
        self.cursor = 0
        """Place of the cursor."""
        self.following = True
        """True while the end is shown, and the cursor is at the newest event."""
        self._is_whole = True
        """True while all of the time is shown, as it grows."""
        self._anchor: Interval | None = None
        """Cell at which the selection began; None: nothing is selected."""
        self._head: Interval | None = None
        """Cell at which the selection ends."""

    def fit(self, start: int, end: int, cells: int) -> None:
        """Take the bounds of the time as they are now, and the columns of the screen."""
        self.bounds = Interval(start, max(end, start + 1))
        if self._is_whole:
            self.window = TimeWindow.of(*self.bounds, cells)
        else:
            window = self.window.with_cells(cells)
            if self.following:
                window = window.moved(self.bounds.end - window.end)
            self.window = window.within(*self.bounds)
        if self.following:
            self.cursor = self.bounds.end - 1
        elif not self.window.has(self.cursor):
            self.cursor = min(max(self.cursor, self.window.start), self.window.end - 1)

    @property
    def is_part(self) -> bool:
        """True if a part of the time is shown, not all of it."""
        return self.window.span < self.bounds.end - self.bounds.start

    @property
    def window_interval(self) -> Interval:
        """Interval that is shown, as far as there is time."""
        return Interval(max(self.window.start, self.bounds.start), min(self.window.end, self.bounds.end))

    @property
    def cell(self) -> int:
        """Cell of the cursor."""
        return min(max(self.window.cell(self.cursor), 0), self.window.cells - 1)

    @property
    def cell_interval(self) -> Interval:
        """Interval of the cursor's cell."""
        return self._interval(self.cell)

    @property
    def selection(self) -> Interval | None:
        """Selected interval; None: nothing is selected."""
        if self._anchor is None or self._head is None:
            return None
        return Interval(min(self._anchor.start, self._head.start), max(self._anchor.end, self._head.end))

    @property
    def selected_cells(self) -> range:
        """Cells of the selected interval."""
        if (found := self.selection) is None:
            return range(0)
        return range(
            max(0, self.window.cell(found.start)), min(self.window.cells, self.window.cell(found.end - 1) + 1)
        )

    def _interval(self, cell: int) -> Interval:
        return Interval(self.window.edge(cell), self.window.edge(cell + 1))

    def _show(self, window: TimeWindow) -> None:
        self.window = window.within(*self.bounds)
        self.following = self._is_whole = False

    # -- zoom --------------------------------------------------------------------------------------------------------

    def zoom_in(self) -> None:
        """Show the selected interval, which stays selected; else, or where it is shown, half of the time around the
        cursor.
        """
        found = self.selection
        wanted = TimeWindow.of(*found, self.window.cells).within(*self.bounds) if found is not None else self.window
        if found is not None and wanted.span < self.window.span:
            self._show(wanted)
            self.cursor = min(max(self.cursor, found.start), found.end - 1)
        else:
            self.zoom(_ZOOM, self.cursor)

    def zoom_out(self) -> None:
        """Show twice the time around the cursor."""
        self.zoom(1 / _ZOOM, self.cursor)

    def zoom(self, part: float, place: int) -> None:
        """Show a part of the time, or several times as much, with a place in the cell in which it is."""
        self._show(self.window.zoomed(part, place))
        self.cursor = min(max(self.cursor, self.window.start), self.window.end - 1)

    def show_all(self) -> None:
        """Show all of the time, and follow the end."""
        self._is_whole = self.following = True
        self.fit(*self.bounds, self.window.cells)

    # -- move --------------------------------------------------------------------------------------------------------

    def hold(self) -> None:
        """Show the same interval, whatever comes."""
        self.following = self._is_whole = False

    def follow(self) -> None:
        """Go to the end, and follow it with as much time as is shown."""
        if self.window.span < self.bounds.end - self.bounds.start:
            self._is_whole = False
        else:
            self._is_whole = True
        self.following = True
        self.fit(*self.bounds, self.window.cells)

    def to_begin(self) -> None:
        """Go to the oldest event."""
        self._show(self.window._replace(start=self.bounds.start))
        self.cursor = self.window.start

    def pan(self, part: float) -> None:
        """Move by a part of the time that is shown; the cursor stays in its column."""
        cell = self.cell
        self._show(self.window.moved(round(self.window.span * part)))
        self.cursor = self.window.edge(cell)

    def step(self, cells: int, first: FirstPlace, *, extend: bool = False) -> None:
        """Move the cursor by cells, to the first event there; beyond the edge the time moves."""
        self.hold()
        before = self.cell_interval
        wanted = self.cell + cells
        if not 0 <= wanted < self.window.cells:
            self._show(self.window.moved(round(self.window.span * _AWAY) * (1 if cells > 0 else -1)))
            target = before.end if cells > 0 else before.start - 1
            wanted = self.window.cell(min(max(target, self.window.start), self.window.end - 1))
        self._put(min(max(wanted, 0), self.window.cells - 1), first)
        if extend:
            self._anchor = self._anchor or before
            self._head = self.cell_interval
        else:
            self.select_none()

    def go_to(self, place: int) -> None:
        """Put the cursor on a place, which is brought into the window."""
        self.hold()
        self.cursor = min(max(place, self.bounds.start), self.bounds.end - 1)
        if not self.window.has(self.cursor):
            self._show(self.window._replace(start=self.cursor - round(self.window.span * _AWAY)))

    def put(self, cell: int, first: FirstPlace) -> None:
        """Put the cursor on the first event of a cell of the window; nothing is selected then."""
        self.hold()
        self.select_none()
        self._put(cell, first)

    def _put(self, cell: int, first: FirstPlace) -> None:
        found = self._interval(cell)
        place = first(*found)
        self.cursor = found.start if place is None else place

    # -- select ------------------------------------------------------------------------------------------------------

    def select(self, begin: int, end: int) -> None:
        """Select the cells from one to another, in either order."""
        self.hold()
        self._anchor, self._head = self._interval(begin), self._interval(end)

    def select_none(self) -> None:
        """Select nothing."""
        self._anchor = self._head = None
