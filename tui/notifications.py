"""Notifications at the foot of the screen: each stays for as long as it takes to read, and covers nothing."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import App
from textual.notifications import SeverityLevel

from widgets.notice import Notice

_SECONDS = 3.0
_SECONDS_PER_LETTER = 0.05
"""Reading speed: some 20 letters a second while doing something else."""
_URGENT = 3
"""Factor by which an error stays longer."""
_WHOLE_DAY = 86400.0
"""Seconds; longer than any operation that a notification waits for."""


class Notices:
    """The notifications that are still to be read, the oldest first; the footer of each screen shows them."""

    def __init__(self, app: App[None], show: Callable[[tuple[Notice, ...]], object]) -> None:
        """Take the application, for its timers, and the function that gets all notices after each change."""
        self.app = app
        self._show = show
        self._unread: tuple[Notice, ...] = ()

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        topic: str = "",
    ) -> None:
        """Show a message until it is read, `timeout` seconds have passed, or `topic` has another message.

        Options that a message of the kernel's part names are keys in it.
        """
        if "--" in message:
            from tui.dialogs.screen_ways_out import keys_for_options

            message = keys_for_options(self.app).text(message)
        urgent = severity == "error"
        seconds = (_SECONDS + _SECONDS_PER_LETTER * len(title + message)) * (_URGENT if urgent else 1)
        notice = Notice(message, title, urgent, topic)
        self.forget(topic)
        self._change((*(one for one in self._unread if one != notice), notice))
        self.app.set_timer(timeout or seconds, lambda: self._remove(notice))

    def notify_until_forgotten(self, message: str, topic: str) -> None:
        """Show what a worker does until `forget`, or until the topic has another message."""
        self.notify(message, timeout=_WHOLE_DAY, topic=topic)

    def notify_not_armed(self, why: str) -> None:
        """Show why a probe was not armed, until one is armed."""
        self.notify(why, title="not armed", severity="error", topic="arming")

    def forget(self, topic: str) -> None:
        """Remove the notices of a topic."""
        self._change(tuple(one for one in self._unread if not topic or one.topic != topic))

    def _remove(self, notice: Notice) -> None:
        self._change(tuple(one for one in self._unread if one is not notice))

    def _change(self, unread: tuple[Notice, ...]) -> None:
        self._unread = unread
        self._show(unread)
