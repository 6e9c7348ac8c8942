"""A line to type a query into: one row high, no blinking, and no key lost that was typed ahead."""

from __future__ import annotations

from typing import Final

from textual import events
from textual.timer import Timer
from textual.widgets import Input

_HOLD: Final = 0.15
"""Seconds to wait for Enter or Escape to move the keyboard elsewhere."""


class SearchLine(Input):
    """An `Input` for queries.

    Enter and Escape often move the keyboard to another widget. Over a slow line the next keys arrive in the same
    packet and would still be typed in here; they are held until it is known where the keyboard is.
    """

    DEFAULT_CSS = """
    SearchLine, SearchLine:focus {
        width: 1fr;
        height: 1;
        border: none;
        padding: 0;
        background: $surface;
    }
    """

    def __init__(
        self,
        placeholder: str = "",
        *,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(placeholder=placeholder, compact=True, select_on_focus=False, id=id, classes=classes)
        self.cursor_blink = False  # blinking is the one thing that would keep an idle screen busy
        self._held: list[events.Key] = []
        self._hold: Timer | None = None

    async def _on_key(self, event: events.Key) -> None:
        if self._hold is not None:
            event.stop()
            event.prevent_default()
            self._held.append(event)
        elif event.key in ("enter", "escape"):
            self._hold = self.set_timer(_HOLD, self._release)
        else:
            await super()._on_key(event)

    def on_blur(self) -> None:
        """The keyboard went elsewhere: what was held belongs there."""
        self._release()

    def _release(self) -> None:
        if self._hold is not None:
            self._hold.stop()
            self._hold = None
        held, self._held = self._held, []
        target = self.app.focused or self.app.screen
        for event in held:
            target._forward_event(events.Key(event.key, event.character))
