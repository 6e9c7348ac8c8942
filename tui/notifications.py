"""Notifications at the foot of the screen instead of in a box over its content."""

from __future__ import annotations

from textual.app import App
from textual.notifications import SeverityLevel
from textual.reactive import var

from widgets.notice import Notice

_SECONDS = 3.0
_SECONDS_PER_LETTER = 0.05
"""Reading speed: some 20 letters a second while doing something else."""
_URGENT = 3
"""Factor for the time that an error stays."""


class SayingApp(App[None]):
    """Application whose key lines (`widgets.footer`) show `said`."""

    said: var[tuple[Notice, ...]] = var(())
    """Notices still to be read, the oldest first."""

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
        topic: str = "",
    ) -> None:
        """Show a message at the foot of the screen for its reading time, or until `topic` has other news.

        A message with markup is Textual's own (for example, a screenshot was saved), and shown as Textual does.
        """
        if markup:
            super().notify(message, title=title, severity=severity, timeout=timeout, markup=markup)
            return
        urgent = severity == "error"
        seconds = (_SECONDS + _SECONDS_PER_LETTER * len(title + message)) * (_URGENT if urgent else 1)
        notice = Notice(message, title, urgent, topic)
        self.forget(topic)
        self.said = (*(one for one in self.said if one != notice), notice)
        self.set_timer(timeout or seconds, lambda: self._remove_notice(notice))

    def forget(self, topic: str) -> None:
        """Remove the notices of a topic, which are outdated."""
        self.said = tuple(notice for notice in self.said if not topic or notice.topic != topic)

    def _remove_notice(self, notice: Notice) -> None:
        self.said = tuple(other for other in self.said if other is not notice)
