"""The next picture of a view that counts faster than it draws; the last one comes when no tick comes any more."""

from __future__ import annotations

from collections.abc import Callable

from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from widgets.call_after import call_after


class PictureChanged(Message):
    """A view shows more than at its last tick, so that the line above it is old."""


class LatePicture:
    """Timer of the next picture of a view."""

    def __init__(self, pane: Widget, show: Callable[[], object]) -> None:
        """Take the widget of the view, and what draws it."""
        self._pane = pane
        self._show = show
        self._timer: Timer | None = None

    @property
    def is_due(self) -> bool:
        """True while a picture is to come."""
        return self._timer is not None

    def due(self, seconds: float) -> None:
        """Draw after so many seconds, unless a picture is due already."""
        if self._timer is None:
            self._timer = call_after(self._pane, max(0.0, seconds), self._draw)

    def drop(self) -> None:
        """Draw no more picture: one is drawn now."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _draw(self) -> None:
        self._timer = None
        self._show()
        self._pane.post_message(PictureChanged())
