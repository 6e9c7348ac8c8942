"""No key is lost that was typed ahead of a move of the keyboard.

Over a slow line several keys arrive in one packet, and the app hands all of them to the widget that has the keyboard
at that moment, also those behind an Enter that moves it elsewhere. A widget of this kind holds what comes behind
such a key until it is known where the keyboard is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.timer import Timer
from textual.widget import Widget

if TYPE_CHECKING:
    _Widget = Widget
else:
    _Widget = object  # Textual takes styles and bindings from one line of bases only: that of the widget mixed into

_HOLD: Final = 0.15
"""Seconds to wait for the keyboard to move."""


class TypeAhead(_Widget):
    """Mixed into widgets that have the keyboard."""

    MOVING_KEYS: ClassVar[frozenset[str]] = frozenset({"enter", "escape"})
    """Keys that may move the keyboard to another widget."""

    _hold: Timer | None = None
    _held: tuple[events.Key, ...] = ()

    async def _on_key(self, event: events.Key) -> None:
        if self._hold is not None:
            event.stop()
            event.prevent_default()
            self._held += (event,)
        elif event.key in self.MOVING_KEYS:
            self._hold = self.set_timer(_HOLD, self._release)

    def _on_blur(self, event: events.Blur) -> None:  # noqa: ARG002 - Textual's
        self._release()

    def _release(self) -> None:
        if self._hold is not None:
            self._hold.stop()
            self._hold = None
        held, self._held = self._held, ()
        if not held or not self.app.is_running or not self.is_attached:  # the screen is gone when the app ends
            return
        target = self.app.focused or self.app.screen
        for event in held:
            target._forward_event(events.Key(event.key, event.character))
