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

from tui.app.typed_ahead import PAUSE, KeyPress, KeyRoute, TypedAhead, may_follow
from tui.commands import GUARDED_ACTIONS
from tui.notifications import Notices
from widgets.safe_text import cut, safe

CLOCK: Callable[[], float] = time.monotonic
"""Seconds; tests put another one in its place."""
_MOST: Final = 500
"""Keys that are held."""
_SHOWN: Final = 30
"""Letters of a text that was not taken, in what is said of it."""
_MOVING: Final = frozenset({"up", "down", "left", "right", "pageup", "pagedown", "home", "end", "tab", "shift+tab"})
_WRITING: Final = frozenset({"backspace", "delete"})
"""Keys that answer no error, and that keep their place behind letters typed ahead."""
_MOMENT: Final = 5.0
"""Seconds after which a letter typed ahead of a place is no command there: nobody has it in mind any more."""
_ROUNDS: Final = 4
"""Times that something follows Enter up to the application: what is entered is told by messages that bring others."""
_DROPPED: Final = "not done, as the screen was changing: {}; wait a moment, then press it again"
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
        self._held: list[tuple[events.Key, KeyPress]] = []
        """Keys typed ahead of a change of the screen."""
        self._held_of_word = False
        """The first of them belongs to a letter that somebody was given: to a word that the change broke."""
        self._held_by_operation = False
        """One of them came while an operation was under way: a question that it ends at was not expected."""
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
        self._dropped = ""
        """Letters that nobody was given since the last key that somebody was."""

    # -- from the application --------------------------------------------------------------------------------------

    def place_changed(self, screen: Screen[object]) -> None:  # noqa: ARG002 - what a signal brings
        """Note that another screen is on top."""
        self.rule.place_changed()

    def begins(self, operation: str) -> None:
        """Hold letters from now on: something is under way that will change the screen."""
        self.rule.begins(operation)
        self._left = self._entered if self._entered is self._app.focused else None

    def ends(self, operation: str) -> None:
        """Mark the end of an operation; the screen changes now, if at all."""
        self.rule.ends(operation)
        if self._held:
            self._look_in(PAUSE)

    async def press(self, event: events.Key) -> None:
        """Give a key to whom it is for, as soon as that is known."""
        writes = self._in_text and (event.is_printable or event.key in _WRITING)
        self._notices.acted(answers=not writes and event.key not in _MOVING)
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
                continue
            event, stroke = self._waiting.popleft()
            if self._left is not None and (self._ends_left(stroke) or not self.rule.changes_until(stroke)):
                self._left = None
            if self._held and (stroke.key == "enter" or stroke.key in _MOVING or stroke.key in _WRITING):
                self._held.append((event, stroke))
                self._look_in(PAUSE)
                continue
            if self._held and not stroke.printable and stroke.key != "escape" and not self.rule.pending:
                self._waiting.appendleft((event, stroke))
                self._giving_held = True
                continue
            of_word = self.rule.continues(stroke)
            command = self._command(event.key)
            fate = self.rule.route(
                stroke,
                in_text=self._in_text,
                careful=command in GUARDED_ACTIONS,
                meant=command not in ("", "why_not"),
            )
            if fate is KeyRoute.HOLD:
                self._held_of_word = self._held_of_word if self._held else of_word
                self._held_by_operation = self.rule.pending or (bool(self._held) and self._held_by_operation)
                self._held.append((event, stroke))
                self._look_in(PAUSE)
            elif fate is KeyRoute.DROP:
                self._drop(stroke)
            elif self._held and self._in_text and stroke.printable:
                self._waiting.appendleft((event, stroke))
                self._take_up()
            else:
                self._drop_held()
                await self._give(event)
        if self._waiting:
            self._look_in(PAUSE)

    async def _give_held(self) -> None:
        """Give the first key typed ahead, the change being over, or drop them all where it may not be given there."""
        letters = [stroke for _, stroke in self._held]
        asked = not (self._held_by_operation and isinstance(self._app.screen, ModalScreen))
        late = CLOCK() - letters[0].at > _MOMENT
        if self._app.focused is not None and self._app.focused is self._left:
            self._left = None
            self._drop_held()
        elif self._in_text:
            self._take_up()
        elif letters[0].key not in _MOVING and (
            late or self._held_of_word or not may_follow(letters, self._command, asked=asked)
        ):
            self._drop_held()
        else:
            event, _ = self._held.pop(0)
            await self._give(event)
        self._giving_held = bool(self._held)

    @staticmethod
    def _ends_left(stroke: KeyPress) -> bool:
        """Return whether a key shows that a person goes on in the text line, or elsewhere."""
        return not stroke.printable and stroke.key != "enter"

    async def _give(self, event: events.Key) -> None:
        letter = self._in_text and event.is_printable
        self._entered = self._app.focused if event.key == "enter" and self._in_text else None
        self._dropped = ""
        target = self._app.focused or self._app.screen
        await self._give_key(event)
        if not letter:
            self._way_up = tuple(target.ancestors_with_self)
            self._rounds = [target] * (_ROUNDS if event.key == "enter" else 0)
            self._under_way = target.post_message(KeyDone())

    def _take_up(self) -> None:
        """Look at the held keys again, before all others."""
        self._waiting.extendleft(reversed(self._held))
        self._held.clear()

    def _look_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._app.set_timer(seconds, self._look)

    async def _look(self) -> None:
        """Give the held keys after a pause in typing; the last key has no reply where a node on its way is gone."""
        self._timer = None
        if not self._app.screen_stack:  # the application ends
            return
        if self._under_way and all(node.is_running for node in self._way_up):  # it is only slow: no key overtakes it
            self._look_in(PAUSE)
            return
        self._under_way, self._rounds = False, []
        self._giving_held = bool(self._held) and not self.rule.pending
        await self._go_on()

    def _drop_held(self) -> None:
        strokes = [stroke for _, stroke in self._held]
        self._held.clear()
        if strokes and strokes[0].key == "enter":
            self._notices.notify(_DROPPED.format("Enter"), topic="typed")
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
