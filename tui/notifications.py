"""Notifications at the foot of the screen, which cover nothing.

A message stays at least for as long as a quick reader needs. After that it goes at the next key or click, and by
itself after a while. An error stays until it is answered (by a key or a click that does more than to move or to
write), or until what it tells of has changed (its topic is forgotten, or has another message).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from textual.app import App
from textual.notifications import SeverityLevel

from widgets.call_after import call_after
from widgets.notice import Notice

CLOCK: Callable[[], float] = time.monotonic
"""Seconds; tests put another one in its place."""
_SECONDS = 3.0
_SECONDS_PER_LETTER = 0.05
"""Reading speed: some 20 letters a second while doing something else."""
_QUICK = 0.5
"""Share of that time that a quick reader needs."""


@dataclass(eq=False)
class _Shown:
    """Notice on the screen."""

    notice: Notice
    read_at: float
    """Time by `CLOCK` from which on it counts as read."""
    stays: bool = False
    """True: only its topic removes it."""
    answered: bool = False
    """True: a key was pressed before it could be read."""


class Notices:
    """The notifications that are still to be read, the oldest first; the footer of each screen shows them."""

    def __init__(self, app: App[None], show: Callable[[tuple[Notice, ...]], object]) -> None:
        """Take the application, for its timers, and the function that gets all notices after each change."""
        self.app = app
        self._show = show
        self._unread: tuple[_Shown, ...] = ()

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        topic: str = "",
    ) -> None:
        """Show a message until it is read, or `topic` has another message; at most for `timeout` seconds.

        Without `timeout` an error stays until it is answered, another message as long as a slow reader needs.

        Options that a message of the kernel's part names are keys in it.
        """
        if "--" in message:
            from tui.dialogs.screen_ways_out import keys_for_options

            message = keys_for_options(self.app).text(message)
        urgent = severity == "error"
        seconds = _SECONDS + _SECONDS_PER_LETTER * len(title + message)
        notice = Notice(message, title, urgent, topic)
        shown = self._add(_Shown(notice, CLOCK() + _QUICK * seconds))
        if timeout or not urgent:
            call_after(self.app, timeout or seconds, lambda: self._remove(shown))

    def notify_until_forgotten(self, message: str, topic: str) -> None:
        """Show what a worker does until `forget`, or until the topic has another message."""
        self._add(_Shown(Notice(message, topic=topic), 0.0, stays=True))

    def acted(self, *, answers: bool) -> None:
        """Remove what was read, as a person goes on to something else; `answers`: errors as well.

        A message that could not be read yet goes as soon as it could.
        """
        now = CLOCK()
        for shown in self._unread:
            if shown.stays or shown.answered or (shown.notice.urgent and not answers):
                continue
            shown.answered = True
            if now < shown.read_at:
                call_after(self.app, shown.read_at - now, partial(self._remove, shown))
            else:
                self._remove(shown)

    def notify_not_armed(self, why: str) -> None:
        """Show why a probe was not armed, until one is armed."""
        self.notify(why, title="not armed", severity="error", topic="arming")

    def forget(self, topic: str) -> None:
        """Remove the notices of a topic."""
        self._change(tuple(one for one in self._unread if not topic or one.notice.topic != topic))

    def _add(self, shown: _Shown) -> _Shown:
        self.forget(shown.notice.topic)
        self._change((*(one for one in self._unread if one.notice != shown.notice), shown))
        return shown

    def _remove(self, shown: _Shown) -> None:
        self._change(tuple(one for one in self._unread if one is not shown))

    def _change(self, unread: tuple[_Shown, ...]) -> None:
        if unread != self._unread:
            self._unread = unread
            self._show(tuple(one.notice for one in unread))
