"""Pane with the details of the row under the cursor, beside or below the rows on a wide screen.

Filled when the cursor has rested: neither moving the cursor nor events that arrive wait for it. While new rows of a
kernel are followed there is no pane: each of them would take it from the one before.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from textual.screen import Screen
from textual.timer import Timer

from tui.live.details.call_end import end_of
from tui.live.details.place import LEAST_COLUMNS, PanePlace, place_of, size_of
from tui.live.view_area import ViewArea
from tui.live.view_switch import ViewSwitch
from tui.present.ways_out import HOLD_ROWS, SHOW_DETAILS
from widgets.call_after import call_after

REST: Final = 0.12
"""Seconds without another row under the cursor until the pane is filled."""
_QUIET: Final = 0.5
"""Seconds without a newer row, where these are followed: longer than between any two pictures of a stream."""
_STALE: Final = 1.0
"""Seconds for which newer rows may keep arriving before the pane no longer shows an older one."""
_EARLY: Final = 0.005
"""Seconds by which a timer may be early."""
_DROPPED: Final = "this row was dropped to make room for newer ones"
_WAITING: Final = "details of the row under the cursor"


class DetailControl:
    """The pane of details (`pane`) in the area that it shares with the views."""

    def __init__(
        self, screen: Screen[None], views: ViewSwitch, area: ViewArea, rows_elsewhere: Callable[[], int]
    ) -> None:
        """Take what returns the number of rows of the screen that a terminal has."""
        self.pane = area.details
        self._area = area
        area.place_details = self.arrange
        self.wanted = True
        """False once the user has hidden the pane."""
        self._screen = screen
        self._views = views
        self._rows_elsewhere = rows_elsewhere
        self._timer: Timer | None = None
        self._row: tuple[str, int | None] = ("", None)
        """View and row that the pane was last asked for."""
        self._due_at = 0.0
        """Time at which the row will have rested, in seconds of `time.monotonic`."""
        self._fires_at = 0.0
        """Time at which the timer looks, in seconds of `time.monotonic`."""
        self._asked_at = 0.0
        """Time of the first of the requests that wait."""
        self._streamed = False
        """True if new rows were followed when the pane was placed."""

    @property
    def is_streaming(self) -> bool:
        """True while new rows of a kernel are followed."""
        watch = self._views.watch
        return watch is not None and watch.live and self._views.current.place.following

    @property
    def is_shown(self) -> bool:
        """True if the pane is on the screen."""
        return self._area.has_class(PanePlace.BESIDE.value) or self._area.has_class(PanePlace.BELOW.value)

    @property
    def _room(self) -> tuple[int, int]:
        """Columns and rows of the screen without the rows of a terminal."""
        columns, rows = self._screen.size
        return columns, rows - self._rows_elsewhere()

    def toggle(self) -> str:
        """Show or hide the pane for as long as the application runs; return why there is none yet."""
        if place_of(*self._room) is PanePlace.NONE:
            return f"details stand beside the rows from {LEAST_COLUMNS} columns on: {SHOW_DETAILS}"
        if self.is_streaming:
            self.wanted = True
            return f"details come beside rows that stand still: {HOLD_ROWS}"
        self.wanted = not self.wanted
        self.arrange()
        return ""

    def arrange(self) -> None:
        """Place the pane by the room on the screen and the view that is shown."""
        columns, rows = self._room
        self._streamed = self.is_streaming
        is_wanted = self.wanted and self._views.current.has_details and not self._streamed
        place = place_of(columns, rows) if is_wanted else PanePlace.NONE
        size = size_of(place, columns, rows)
        self.pane.styles.width = size if place is PanePlace.BESIDE else None
        self.pane.styles.height = size if place is PanePlace.BELOW else None
        for one in (PanePlace.BESIDE, PanePlace.BELOW):
            self._area.set_class(place is one, one.value)
        self.due()

    def due(self, rest: float = REST) -> None:
        """Fill the pane once the cursor or the newest row has rested."""
        now = time.monotonic()
        self._row, self._due_at = (self._views.current.name, self._views.current.detail_row), now + rest
        if self._timer is None:
            self._asked_at = now
        elif self._fires_at <= self._due_at:
            return
        else:
            self._timer.stop()
        self._fires_at = self._due_at
        self._timer = call_after(self._screen, rest, self._look)

    def names_changed(self) -> None:
        """Show names of tasks that are known only now."""
        self.due(_QUIET)

    def news(self) -> None:
        """Take notice of rows that arrived, and of probes that were armed and disarmed."""
        if self.is_streaming != self._streamed:
            self.arrange()
        elif (self._views.current.name, self._views.current.detail_row) != self._row:
            self.due(_QUIET)

    def _look(self) -> None:
        """Fill the pane if the row has rested; rows that never rest leave it empty."""
        self._timer, now = None, time.monotonic()
        if now >= self._due_at - _EARLY:
            self._fill()
            return
        if now - self._asked_at > _STALE and self.pane.fields:
            self.pane.show(_WAITING, ())
        self._fires_at = self._due_at
        self._timer = call_after(self._screen, self._due_at - now, self._look)

    def _fill(self) -> None:
        if not self.is_shown:
            return
        watch, row = self._views.watch, self._views.current.detail_row
        if watch is None or row is None:
            self.pane.show(_WAITING, ())
            return
        try:
            self.pane.show(*self._views.current.detail(watch, row))
        except IndexError:
            self.pane.show(_DROPPED, ())

    def call_end(self, at_exit: bool) -> int | str:
        """Return the sequence number of the entry or exit of the call under the cursor, or why there is none."""
        view, watch = self._views.current, self._views.watch
        row = view.detail_row
        try:
            call = view.call_of_row(watch, row) if watch is not None and row is not None else None
        except IndexError:
            return _DROPPED
        return end_of(call, at_exit=at_exit)
