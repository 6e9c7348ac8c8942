"""A line that was cut, in the application: tried again in a worker, by hand too, until someone gives it up."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from textual.app import App, SuspendNotSupported
from textual.timer import Timer

from tui.app.ways_out import GIVE_UP, RECONNECT
from tui.messages import ConnectionLost, ConnectionRestored

if TYPE_CHECKING:
    from kernel.watch.reconnect import ReconnectAttempt
    from kernel.watch.watch import Watch

GONE = "the line is gone"
_LOOK_EVERY = 1.0
"""Seconds between two pictures of how far it is."""


class ReconnectControl:
    """One line at a time; `ConnectionRestored` or `ConnectionLost` tells how it ends."""

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self._reconnecting: ReconnectAttempt | None = None
        self._given_up: Watch | None = None
        self._timer: Timer | None = None

    @property
    def trying(self) -> bool:
        """A line is cut, and somebody tries to make another."""
        return self._reconnecting is not None

    @property
    def can_try(self) -> bool:
        """There is a line that is cut and not given up for good."""
        if self.trying or self._given_up is None:
            return self.trying
        from kernel.watch.reconnect import can_come_back

        return can_come_back(self._given_up)

    def begin(self, watching: Watch) -> bool:
        """Bring a watch back whose line was cut; False: that can't be."""
        from kernel.watch.reconnect import ReconnectAttempt, can_come_back

        if self.trying or not can_come_back(watching):
            return False
        self._reconnecting = reconnecting = ReconnectAttempt(watching)
        self._given_up = None
        self._look()
        self._timer = self._app.set_interval(_LOOK_EVERY, self._look)
        self._app.run_worker(lambda: self._run(reconnecting), thread=True, group="line")
        return True

    def _run(self, reconnecting: ReconnectAttempt) -> None:
        from kernel.errors import KernelError

        try:
            back = reconnecting.run()
        except KernelError as error:
            self._app.post_message(ConnectionLost(reconnecting.watch, error))
        else:
            self._app.post_message(ConnectionRestored(reconnecting.watch, back))

    def _look(self) -> None:
        """Say how far it is."""
        if self._reconnecting is not None:
            asks = " (ssh asks)" if self._reconnecting.wants_to_ask else ""
            self._reconnecting.watch.line_note = f"{self._reconnecting.note}; {RECONNECT}{asks}, {GIVE_UP}"
            refresh = getattr(self._app, "refresh_places", None)
            if refresh is not None:
                refresh()

    def try_now(self) -> None:
        """Not later; where ssh has a question it gets the terminal for it."""
        if self._given_up is not None:
            self.begin(self._given_up)
        reconnecting = self._reconnecting
        if reconnecting is None or reconnecting.finished:  # how it ended is being told
            return
        if not reconnecting.wants_to_ask:
            reconnecting.try_now()
            return
        with contextlib.suppress(SuspendNotSupported), self._app.suspend():
            reconnecting.try_now(asking=True)
            reconnecting.wait_for_try()

    def give_up(self) -> None:
        """Nobody shall try any more."""
        if self._reconnecting is not None:
            self._reconnecting.give_up()

    def over(self, watching: Watch, *, for_good: bool = False) -> None:
        """It is back, or was given up."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._reconnecting = None
        self._given_up = watching if for_good else None
        watching.line_note = GONE

    def leave(self) -> None:
        """The target is left."""
        self.give_up()
        if self._reconnecting is not None:
            self.over(self._reconnecting.watch)
        self._given_up = None
