"""The part of the application that keys and pasted text come through, and that knows what can be taken back."""

from __future__ import annotations

from collections.abc import Callable

from textual import events, on
from textual.widgets import Input
from textual.worker import Worker

from tui.app.keyboard import Keyboard, KeyDone
from tui.app.undo_list import TakeBackList
from tui.app.ways_out import take_back
from tui.notifications import SayingApp
from widgets.safe_text import stand_ins


class TypingApp(SayingApp):
    """Nothing that is typed or pasted reaches a widget but by `keyboard`."""

    def __init__(self) -> None:
        super().__init__()
        self.keyboard = Keyboard(self)
        self.undo = TakeBackList()

    async def on_mount(self) -> None:
        self.screen_change_signal.subscribe(self, self.keyboard.place_changed, immediate=True)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and not event.is_forwarded:
            self.app_focus = True
            await self.keyboard.press(event)
        elif not isinstance(event, events.Paste) or event.is_forwarded:
            await super().on_event(event)
        elif self.keyboard.paste():
            # A line of Textual's own, as the palette has, would write control characters to the terminal.
            event.text = "\n".join(stand_ins(line.replace("\t", " ")) for line in event.text.splitlines())
            await super().on_event(event)

    def refresh_bindings(self) -> None:
        """Look anew at which keys work now. An application that ends has no screen, and timers may come after it."""
        if self.screen_stack:
            super().refresh_bindings()

    @property
    def clipboard(self) -> str:
        """Text that was copied; for a line of text the first of its lines, as of what is pasted."""
        text = super().clipboard
        if not isinstance(self.focused, Input):
            return text
        return stand_ins(next(iter(text.splitlines()), "").replace("\t", " "))

    async def give_key(self, event: events.Key) -> None:
        """Hand a key to what has the keyboard."""
        await super().on_event(event)

    @on(KeyDone)
    async def _key_done(self) -> None:
        await self.keyboard.key_done()

    def can_take_back(self, what: str, back: Callable[[], object]) -> None:
        """Say what was done, and that `u` takes it back."""
        self.undo.add(what, back)
        self.notify(f"{what}; {take_back(self)}", markup=False, topic="undo")
        self.refresh_bindings()

    def undo_last(self) -> None:
        """Take back what was done last, of what can be."""
        step = self.undo.take()
        self.forget("undo")
        if step is not None:
            under_way = isinstance(step.back(), Worker)  # which says itself what came of it
            self.notify(f"{'taking' if under_way else 'taken'} back: {step.what}", markup=False, topic="undo")
        self.refresh_bindings()
