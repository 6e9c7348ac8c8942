"""The one place through which keys and pasted text reach the application: see `tui.app.typed_ahead` for the rule.

A key that may be a command has its effect before the next key is looked at: the application hands keys to what has
the keyboard, and a command is found only when the key has come back up from there.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from textual import actions, events
from textual.app import App
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import ModalScreen, Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, TextArea

from tui.app.typed_ahead import MOVING, PAUSE, WRITING, HeldKeys, KeyPress, KeyRoute, TypedAhead
from tui.commands import GUARDED_ACTIONS, LEADING_KEYS
from tui.notifications import Notices
from tui.present.ways_out import DROP_HELD, LEAVE_DIALOG
from widgets.call_after import call_after
from widgets.safe_text import cut, safe
from widgets.way_out import key_text

CLOCK: Callable[[], float] = time.monotonic
"""Seconds; tests put another one in its place."""
_MOST: Final = 500
"""Keys that are held."""
_SHOWN: Final = 30
"""Letters of a text that was not taken, in what is said of it."""
_ROUNDS: Final = 4
"""Times that something follows Enter up to the application: what is entered is told by messages that bring others."""
_DROPPED: Final = "not done, as the screen was changing: {}; wait a moment, then press it again"
_WAITS: Final = f"{{}} waits until this is done, and what is typed behind it; {DROP_HELD}"
_BLOCKED: Final = f"{{}} leads out of this dialog: {LEAVE_DIALOG}"
_REFUSED: Final = "pasted text is for a text line, and none has the keyboard here"


class KeyDone(Message):
    """Follows a key up to the application: the key has had its effect."""


class Keyboard:
    """Holds keys until it is known where they belong."""

    def __init__(self, app: App[None], notices: Notices, give: Callable[[events.Key], Awaitable[None]]) -> None:
        """Take the application, and the function that hands a key to the widget with the keyboard."""
        self.rule = TypedAhead(CLOCK)
        self._app = app
        self._notices = notices
        self._give_key = give
        self._waiting: deque[tuple[events.Key, KeyPress]] = deque()
        """Keys behind one that has not had its effect, the oldest first."""
        self._held: HeldKeys[events.Key] = HeldKeys()
        self._giving_held = False
        """The change is over, and they are given one after the other."""
        self._entered: Widget | None = None
        """Text line in which Enter was given last; what that begins leaves the line."""
        self._left: Widget | None = None
        """Text line that an operation under way has left."""
        self._under_way = False
        """A key was given to a widget, and has not had its effect yet."""
        self._way_up: tuple[MessagePump, ...] = ()
        """Nodes that this key passes, from that widget to the application."""
        self._rounds: list[MessagePump] = []
        """Whom the key given last was for, as often as it is still to be followed up to the application."""
        self._timer: Timer | None = None
        self._led = False
        """A key that leads to a place or a dialog was given since the operation under way began."""
        self._dropped = ""
        """Letters that nobody was given since the last key that somebody was."""

    # -- from the application --------------------------------------------------------------------------------------

    def place_changed(self, screen: Screen[object]) -> None:  # noqa: ARG002 - what a signal brings
        """Note that another screen is on top."""
        self.rule.place_changed()
        if self._held:
            self._look_in(PAUSE)

    @property
    def is_elsewhere(self) -> bool:
        """True where a person went to a text line or a dialog since the operation began that ends now: its end leads
        to no other place, as what is being typed would become keys there.
        """
        return self._led and (self._in_text or isinstance(self._app.screen, ModalScreen))

    def begins(self, operation: str) -> None:
        """Hold letters from now on: something is under way that will change the screen."""
        self._led = self._led and self.rule.pending
        self.rule.begins(operation)
        self._left = self._entered if self._entered is self._app.focused else None

    def ends(self, operation: str) -> None:
        """Mark the end of an operation; the screen changes now, if at all."""
        self.rule.ends(operation)
        if self._held:
            self._look_in(PAUSE)

    async def press(self, event: events.Key) -> None:
        """Give a key to whom it is for, as soon as that is known."""
        writes = self._in_text and (event.is_printable or event.key in WRITING)
        self._notices.acted(answers=not writes and event.key not in MOVING)
        if len(self._waiting) + len(self._held) < _MOST:
            self._waiting.append((event, self.rule.stroke(event.key, event.character)))
        await self._go_on()

    async def key_done(self) -> None:
        """Give the next key: the last one, or one more of its messages, has had its effect."""
        self._under_way = bool(self._rounds) and self._rounds.pop().post_message(KeyDone())
        await self._go_on()

    def paste(self) -> bool:
        """Return whether a text line takes what is pasted; say so where none does."""
        if not self._in_text:
            self._notices.notify(_REFUSED, topic="typed")
        return self._in_text

    # -- keys ------------------------------------------------------------------------------------------------------

    async def _go_on(self) -> None:
        """Give the keys that wait, up to one behind which the next has to wait."""
        if not self._app.screen_stack:  # the application ends: the reply to its last key comes after its screens
            self._waiting.clear()
            self._giving_held = False
        while (self._giving_held or self._waiting) and not self._under_way:
            if self._giving_held:
                await self._give_held()
            else:
                await self._route(*self._waiting.popleft())
        if self._waiting:
            self._look_in(PAUSE)

    async def _route(self, event: events.Key, stroke: KeyPress) -> None:
        """Give, hold or drop the next key."""
        if self._left is not None and (self._ends_left(stroke) or not self.rule.changes_until(stroke)):
            self._left = None
        if self._route_leading(event, stroke):
            return
        if self._held and stroke.keeps_its_place:
            self._hold(event, stroke)
            return
        if self._held and not stroke.printable and stroke.key != "escape" and not self._waits:
            self._waiting.appendleft((event, stroke))
            self._giving_held = True
            return
        of_word = self.rule.continues(stroke)
        command = self._command(event.key)
        careful, meant = command in GUARDED_ACTIONS, command not in ("", "why_not")
        route = self.rule.route(stroke, in_text=self._in_text, careful=careful, meant=meant)
        if route is KeyRoute.HOLD:
            self._hold(event, stroke, of_word=of_word)
        elif route is KeyRoute.DROP:
            self._drop(stroke)
        elif self._held and self._in_text and stroke.printable:
            self._waiting.appendleft((event, stroke))
            self._take_up()
        else:
            self._drop_held()
            await self._give(event)

    def _route_leading(self, event: events.Key, stroke: KeyPress) -> bool:
        """Hold a key that leads elsewhere, and what is behind it, until a dialog ends by itself; refuse it in others.
        Return whether the key is done with.
        """
        leads = event.key in LEADING_KEYS
        if self._waits and self._held.lead and (leads or stroke.printable or stroke.keeps_its_place):
            self._hold(event, stroke)
            return True
        screen = self._app.screen
        takes = event.key in getattr(screen, "own_keys", ()) or bool(self._command(event.key))
        if not leads or takes or not isinstance(screen, ModalScreen):
            return False
        if self._waits:
            self._drop_held()
            self._hold(event, stroke)
        self._notices.notify((_WAITS if self._waits else _BLOCKED).format(key_text(event.key)), topic="typed")
        return True

    @property
    def _waits(self) -> bool:
        """True while something is under way that changes the screen by itself."""
        return self.rule.pending or getattr(self._app.screen, "ends_by_itself", False)

    def _hold(self, event: events.Key, stroke: KeyPress, *, of_word: bool = False) -> None:
        self._held.hold(event, stroke, of_word=of_word, by_operation=self.rule.pending)
        self._look_in(PAUSE)

    async def _give_held(self) -> None:
        """Give the first key typed ahead, the change being over, or drop them all where it may not be given there."""
        asks = isinstance(self._app.screen, ModalScreen)
        if self._app.focused is not None and self._app.focused is self._left:
            self._left = None
            self._drop_held()
        elif self._held.lead and self._command(self._held.lead):
            await self._give(self._held.take_first())
            self._take_up()
        elif self._in_text and not self._held.lead:
            self._take_up()
        elif self._held.is_command(CLOCK(), self._command, asks=asks):
            await self._give(self._held.take_first())
        else:
            self._drop_held()
        self._giving_held = bool(self._held)

    @staticmethod
    def _ends_left(stroke: KeyPress) -> bool:
        """Return whether a key shows that a person goes on in the text line, or elsewhere."""
        return not stroke.printable and stroke.key != "enter"

    async def _give(self, event: events.Key) -> None:
        letter = self._in_text and event.is_printable
        self._entered = self._app.focused if event.key == "enter" and self._in_text else None
        self._dropped = ""
        self._led |= event.key in LEADING_KEYS and self.rule.pending
        target = self._app.focused or self._app.screen
        await self._give_key(event)
        if not letter:
            self._way_up = tuple(target.ancestors_with_self)
            self._rounds = [target] * (_ROUNDS if event.key == "enter" else 0)
            self._under_way = target.post_message(KeyDone())

    def _take_up(self) -> None:
        """Look at the held keys again, before all others."""
        self._waiting.extendleft(reversed(self._held.take_all()))

    def _look_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = call_after(self._app, seconds, self._look)

    async def _look(self) -> None:
        """Give the held keys after a pause in typing; the last key has no reply where a node on its way is gone."""
        self._timer = None
        if not self._app.screen_stack:  # the application ends
            return
        if self._under_way and all(node.is_running for node in self._way_up):  # it is only slow: no key overtakes it
            self._look_in(PAUSE)
            return
        self._under_way, self._rounds = False, []
        self._giving_held = bool(self._held) and not self._waits
        await self._go_on()

    def _drop_held(self) -> None:
        strokes = [stroke for _, stroke in self._held.take_all()]
        if strokes and (strokes[0].key == "enter" or strokes[0].key in LEADING_KEYS):
            self._notices.notify(_DROPPED.format(key_text(strokes[0].key)), topic="typed")
        else:
            self._drop(*strokes)

    def _drop(self, *strokes: KeyPress) -> None:
        self._dropped += "".join(str(one.character) for one in strokes if one.printable)
        if strokes and self._dropped:
            self._notices.notify(_DROPPED.format(cut(safe(self._dropped), _SHOWN)), topic="typed")

    @property
    def _in_text(self) -> bool:
        focused = self._app.focused
        if focused is not None and focused is self._left and self.rule.changes_until(self.rule.stroke("", None)):
            return False
        return isinstance(focused, Input | TextArea) or getattr(focused, "takes_text", False)

    def _command(self, key: str) -> str:
        """Return the name of the action that a key has, where it has the keyboard now; empty: none."""
        for node, bound in self._app.screen._modal_binding_chain:
            for binding in bound.key_to_bindings.get(key, ()):
                _, name, parameters = actions.parse(binding.action)
                if node.check_action(name, parameters):
                    return name
        return ""
