"""Hold the rows at the last event of a command, and follow them again under the next, unless a person held them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.live.view_switch import ViewSwitch
    from tui.views.view import View


class RowsHold:
    """The view that the end of a command held, if any."""

    def __init__(self, views: ViewSwitch, show_new: Callable[[], bool]) -> None:
        """Take the views, and the function that shows what is new; it returns True where there is more."""
        self._views = views
        self._show_new = show_new
        self._held: View | None = None

    def hold(self) -> bool | None:
        """Hold the picture of the current view with the newest events; return False if it was held or can't be, None
        if events are not shown yet.
        """
        if self._show_new():
            return None
        view = self._views.current
        if not view.hold():
            return False
        self._held = view
        return True

    def followed(self) -> None:
        """Note that somebody follows the rows again: whoever holds them next is a person."""
        if self._held is not None and self._held is self._views.current and self._held.place.following:
            self._held = None

    def follow(self) -> None:
        """Follow the rows that the end of a command held."""
        if self._held is not None and self._held is self._views.current:
            self._held.follow()
            self._held = None
