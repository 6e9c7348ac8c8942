"""How the application says something in passing: at the foot of the screen, not in a box over what one looks at."""

from __future__ import annotations

from textual.app import App
from textual.notifications import SeverityLevel
from textual.reactive import var

from widgets.notice import Notice

_SECONDS = 3.0
_SECONDS_PER_LETTER = 0.05
"""A person reads some 20 letters a second while doing something else."""
_URGENT = 3
"""Times as long stays what went wrong."""


class SayingApp(App[None]):
    """Its key lines (`widgets.footer`) show `said`."""

    said: var[tuple[Notice, ...]] = var(())
    """What still has to be read, oldest first."""

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
        """Say it at the foot of the screen for as long as it takes to read, or until `topic` has other news.

        With markup it is Textual's own (a picture of the screen was saved, say), and shown as Textual does.
        """
        if markup:
            super().notify(message, title=title, severity=severity, timeout=timeout, markup=markup)
            return
        urgent = severity == "error"
        seconds = (_SECONDS + _SECONDS_PER_LETTER * len(title + message)) * (_URGENT if urgent else 1)
        said = Notice(message, title, urgent, topic)
        self.forget(topic)
        self.said = (*(one for one in self.said if one != said), said)
        self.set_timer(timeout or seconds, lambda: self._unsay(said))

    def forget(self, topic: str) -> None:
        """What was said of it is true no more."""
        self.said = tuple(one for one in self.said if not topic or one.topic != topic)

    def _unsay(self, said: Notice) -> None:
        self.said = tuple(one for one in self.said if one is not said)
