"""A tiny app around one widget: records its messages, counts its repaints, reads the screen as text."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from textual import events
from textual.app import App, ComposeResult
from textual.css.query import NoMatches
from textual.message import Message
from textual.pilot import Pilot
from textual.widget import Widget

SAID_LATELY = "_said_lately"
"""Name of the last messages of an application, where they are kept."""


def screen_text(app: App[Any]) -> list[str]:
    """Rows of the screen, without what is blank at their ends."""
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]


class Host(App[None]):
    """Shows the widgets that `make` builds and keeps every message of the kinds it is told to."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, make: Callable[[], Widget], *kinds: type[Message], css: str = "", theme: str = "") -> None:
        super().__init__()
        self._make = make
        self._kinds = kinds
        self.heard: list[Any] = []
        if css:
            self.stylesheet.add_source(css, ("host", ""))
        if theme:
            self.theme = theme

    def compose(self) -> ComposeResult:
        self.widget = self._make()
        yield self.widget

    async def _dispatch_message(self, message: Message) -> None:
        if self._kinds and isinstance(message, self._kinds):
            self.heard.append(message)
        await super()._dispatch_message(message)

    @asynccontextmanager
    async def shown(self, width: int = 80, height: int = 24) -> AsyncIterator[Pilot[None]]:
        """Run it at a size; what the widget does after its first layout is done when this gives the pilot."""
        async with self.run_test(size=(width, height)) as pilot:
            await pilot.pause()
            yield pilot

    @property
    def text(self) -> str:
        """The screen, line by line, blanks at the ends taken away."""
        return "\n".join(screen_text(self))

    def line(self, y: int) -> str:
        return self.text.split("\n")[y]


def count_paints(widget: Widget) -> list[int]:
    """Count how often lines of the widget are rendered from now on; the number is the list's only item."""
    painted = [0]
    render_line = widget.render_line

    def counted(y: int):
        painted[0] += 1
        return render_line(y)

    widget.render_line = counted  # type: ignore[method-assign]
    return painted


async def paste(pilot: Pilot[Any], text: str) -> None:
    """Text into the line that has the keyboard; a press for each letter would wait for an idle machine as often."""
    pilot.app.post_message(events.Paste(text))
    await pilot.pause()


async def until(condition: Callable[[], object], pilot: Pilot[Any], seconds: float = 60.0) -> None:
    """Wait for the application to come to a state, and show its screen where it does not.

    A widget that is not there yet is no failure.
    """
    end = time.monotonic() + seconds
    while True:
        await pilot.pause()
        try:
            if condition():
                await pilot.pause()  # a screen that has just come has its widgets then
                return
        except (LookupError, NoMatches):
            pass
        if time.monotonic() >= end:
            said = vars(pilot.app).get(SAID_LATELY, ())
            state = ["the application did not come to that state:", *screen_text(pilot.app), "it said lately:", *said]
            raise AssertionError("\n".join(state))
        await asyncio.sleep(0.02)
