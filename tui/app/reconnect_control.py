"""Reconnect a watch whose connection was lost: in a worker, and by hand, until a person gives up."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import App, SuspendNotSupported
from textual.timer import Timer

from tui.dialogs import dialogs
from tui.messages import ConnectionLost, ConnectionRestored
from tui.notifications import Notices
from tui.present.ways_out import GIVE_UP, RECONNECT

if TYPE_CHECKING:
    from kernel.errors import KernelError
    from kernel.watch.reconnect import ReconnectAttempt
    from kernel.watch.watch import Watch

GONE = "the connection was lost"
_LOOK_EVERY = 1.0
"""Seconds between two reports of the attempt's progress."""


class ReconnectControl:
    """Attempts to reconnect, one at a time; `ConnectionRestored` or `ConnectionLost` reports the end of each."""

    def __init__(
        self, app: App[None], notices: Notices, refresh: Callable[[], None], changed: Callable[[], None]
    ) -> None:
        """Take the parts that reconnecting needs.

        Args:
            app: has the timers, the workers and the terminal.
            notices: notifies.
            refresh: shows the places anew.
            changed: called when the connection is restored, or lost for good.
        """
        self._app = app
        self._notices = notices
        self._refresh = refresh
        self._changed = changed
        self._watch: Watch | None = None
        self._reconnecting: ReconnectAttempt | None = None
        self._given_up: Watch | None = None
        self._timer: Timer | None = None
        self._key_shown = False
        """True while the footer has F7 because the connection is silent."""

    def follow(self, watching: Watch | None) -> None:
        """Concern this watch from now on; None: the target is left."""
        if watching is None:
            self.give_up()
            if self._reconnecting is not None:
                self._end(self._reconnecting.watch)
            self._given_up = None
        self._watch = watching

    # -- state -----------------------------------------------------------------------------------------------------

    @property
    def trying(self) -> bool:
        """True while an attempt to reconnect is under way."""
        return self._reconnecting is not None

    @property
    def can_try(self) -> bool:
        """True where the connection is lost and an attempt to reconnect can be made, or is under way."""
        if self.trying or self._given_up is None:
            return self.trying
        from kernel.watch.reconnect import can_reconnect

        return can_reconnect(self._given_up)

    @property
    def silent(self) -> bool:
        """True where the connection owes an answer, and another one can be made in its place."""
        if self._watch is None or self._watch.overdue_seconds is None:
            return False
        from kernel.watch.reconnect import can_drop_silent  # a connection that answers needs none of it

        return can_drop_silent(self._watch)

    def show_key(self) -> None:
        """Show F7 in the footer when the connection has fallen silent, and hide it when it answers again."""
        if self._key_shown != self.silent:
            self._key_shown = not self._key_shown
            self._app.refresh_bindings()

    # -- the attempt -----------------------------------------------------------------------------------------------

    def lose(self, watching: Watch, error: KernelError) -> None:
        """Begin to reconnect a watch that receives no more events; show the error where that can't be."""
        if self.begin(watching):
            self._notices.notify(f"{error}; {RECONNECT}, {GIVE_UP}", severity="error", topic="connection")
            self._app.refresh_bindings()
        else:
            dialogs.show_trouble(self._app, "no more events will come", str(error), error.remedy)

    def begin(self, watching: Watch) -> bool:
        """Begin an attempt to reconnect a watch; return False where that can't be."""
        from kernel.watch.reconnect import ReconnectAttempt, can_reconnect

        if self.trying or not can_reconnect(watching):
            return False
        self._reconnecting = reconnecting = ReconnectAttempt(watching)
        self._given_up = None
        self._report()
        self._timer = self._app.set_interval(_LOOK_EVERY, self._report)
        self._app.run_worker(lambda: self._run(reconnecting), thread=True, group="reconnect")
        return True

    def _run(self, reconnecting: ReconnectAttempt) -> None:
        from kernel.errors import KernelError

        try:
            back = reconnecting.run()
        except KernelError as error:
            self._app.post_message(ConnectionLost(reconnecting.watch, error))
        else:
            self._app.post_message(ConnectionRestored(reconnecting.watch, back))

    def _report(self) -> None:
        """Show how far the attempt is."""
        if self._reconnecting is not None:
            asks = " (ssh asks)" if self._reconnecting.wants_to_ask else ""
            self._reconnecting.watch.connection_note = f"{self._reconnecting.note}; {RECONNECT}{asks}, {GIVE_UP}"
            self._refresh()

    def try_now(self) -> None:
        """Reconnect now, also a silent connection. If ssh must prompt, suspend the application and give it the
        terminal.
        """
        if self.silent and self._watch is not None:
            from kernel.watch.reconnect import drop_silent

            drop_silent(self._watch)  # the handler of the lost connection begins the attempt
            return
        if self._given_up is not None:
            self.begin(self._given_up)
        reconnecting = self._reconnecting
        if reconnecting is None or reconnecting.finished:  # its end is being reported
            return
        if not reconnecting.wants_to_ask:
            reconnecting.try_now()
            return
        with contextlib.suppress(SuspendNotSupported), self._app.suspend():
            reconnecting.try_now(asking=True)
            reconnecting.wait_for_try()

    def give_up(self) -> None:
        """End the attempt that is under way."""
        if self._reconnecting is not None:
            self._reconnecting.give_up()

    # -- its end ---------------------------------------------------------------------------------------------------

    def restored(self, event: ConnectionRestored) -> None:
        """Notify of a connection that is restored, and of probes that could not be armed again."""
        if event.watch is not self._watch:
            return
        self._end(event.watch)
        self._notices.notify(event.reconnected.text, title="back again", topic="connection")
        for refused in event.reconnected.rejected_probes:
            self._notices.notify(refused, title="not armed again", severity="error")
        if event.reconnected.outage.booted:
            self._app.run_worker(event.watch.info.symbols.renew, thread=True, group="symbols")
        self._changed()

    def lost(self, event: ConnectionLost) -> None:
        """Show why the connection can't be restored; F7 tries again."""
        if event.watch is not self._watch:
            return
        self._end(event.watch, for_good=True)
        self._notices.forget("connection")
        dialogs.show_trouble(self._app, "no more events will come", str(event.error), event.error.remedy)
        self._changed()

    def _end(self, watching: Watch, *, for_good: bool = False) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._reconnecting = None
        self._given_up = watching if for_good else None
        watching.connection_note = GONE
