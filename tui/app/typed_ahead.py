"""Rule by which a key is text, a command, or typed ahead of a change of the screen; without effects.

A letter belongs to the text line that has the keyboard. Elsewhere it is a command, but not

- while an operation is under way that will change the screen, or just after the screen has changed (otherwise than by
  Escape), until nobody has typed for `PAUSE`: such letters are for the place that the change ends at. A text line
  takes them; elsewhere each is a command where `may_follow` says so, else they are for nobody. The text line in which
  Enter began the operation is left by it: what follows is not for that line;
- behind a key that leads to a text line (`tui.commands.LEADING_KEYS`), which waits with them for the end of a dialog
  that ends by itself; where such a key was given before an operation ends, that leads to no other place;
- within a word, where the command destroys, writes or changes the kernel (`tui.commands.GUARDED_ACTIONS`): the rest
  of that word is for nobody, as it is behind a letter that has no command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from itertools import takewhile
from typing import Generic, NamedTuple, TypeVar

from tui.commands import ASKING_ACTIONS, GUARDED_ACTIONS, LEADING_KEYS

PAUSE = 0.35
"""Seconds without a letter after which one is meant as a command: a person needs as long to see another screen."""
MOVING = frozenset({"up", "down", "left", "right", "pageup", "pagedown", "home", "end", "tab", "shift+tab"})
WRITING = frozenset({"backspace", "delete"})
_MOMENT = 5.0
"""Seconds after which a letter typed ahead of a place is no command there: nobody has it in mind any more."""

Event = TypeVar("Event")


class KeyRoute(Enum):
    """The destination of a key."""

    GIVE = auto()
    """Give the key to the widget that has the keyboard."""
    HOLD = auto()
    """Hold the key: it is typed ahead of a change."""
    DROP = auto()
    """Drop the key."""


class KeyPress(NamedTuple):
    """A key that was pressed, with its time."""

    key: str
    """Textual's name of the key."""
    character: str | None
    """Character that the key writes; None: it writes none."""
    at: float
    """Time in seconds."""

    @property
    def printable(self) -> bool:
        """True where the key writes a character."""
        return self.character is not None and self.character.isprintable()

    @property
    def in_word(self) -> bool:
        """True where the character may stand in a name."""
        return self.printable and (str(self.character).isalnum() or self.character == "_")

    @property
    def keeps_its_place(self) -> bool:
        """True for a key that waits behind letters typed ahead, as they may be for what it moves in or answers."""
        return self.key == "enter" or self.key in MOVING or self.key in WRITING


_NOTHING_YET = KeyPress("", None, float("-inf"))


class TypedAhead:
    """The state of the rule: the key before, what is under way, and since when the screen is another one."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Take a clock in seconds."""
        self._clock = clock
        self._before = _NOTHING_YET
        """The last key, where it was a letter."""
        self._pending: set[str] = set()
        self._changed_at: float | None = None
        """Time at which the screen changed; None: there was a pause since."""
        self._by_letter = False
        """True where a letter came before the last change of the screen."""
        self._by_escape = False
        """True where the last key was Escape."""
        self._in_word = False
        """True while a word is being typed that is dropped."""
        self._by_careful = False
        """True where a letter of the word began a careful command: Enter behind it answers nothing."""

    @property
    def pending(self) -> bool:
        """True while an operation is under way that will change the screen."""
        return bool(self._pending)

    def stroke(self, key: str, character: str | None) -> KeyPress:
        """Return a key pressed now."""
        return KeyPress(key, character, self._clock())

    def begins(self, operation: str) -> None:
        """Mark the beginning of an operation that will change the screen."""
        self._pending.add(operation)

    def ends(self, operation: str) -> None:
        """Mark the end of an operation; the screen may change at once."""
        if operation in self._pending:
            self._pending.discard(operation)
            self._change()

    def place_changed(self) -> None:
        """Mark a change of the screen; a person who pressed Escape expects it."""
        by_escape, self._by_escape = self._by_escape, False  # what changes next changes by itself
        if not by_escape or self.pending:
            self._change()

    def _change(self) -> None:
        self._changed_at = self._clock()
        self._by_letter = self._before.printable and self._changed_at - self._before.at < PAUSE
        self._in_word = False

    def changes_until(self, stroke: KeyPress) -> bool:
        """Return True for a key that comes while the screen changes, or before a pause since."""
        since = self._changed_at
        return self.pending or (since is not None and stroke.at - max(since, self._before.at) < PAUSE)

    def continues(self, stroke: KeyPress) -> bool:
        """Return True for a key that belongs to a letter before it, which somebody was given."""
        return self._before.printable and stroke.at - self._before.at < PAUSE

    def route(self, stroke: KeyPress, *, in_text: bool, careful: bool, meant: bool = True) -> KeyRoute:
        """Return the way of a key, the next one typed.

        Args:
            stroke: the key.
            in_text: a text line has the keyboard.
            careful: the key's command destroys, writes or changes the kernel.
            meant: the key has a command.
        """
        typing = stroke.at - self._before.at < PAUSE
        if not self.changes_until(stroke):
            self._changed_at = None
        if not typing:
            self._in_word = self._by_careful = False
        self._by_escape = stroke.key == "escape"
        if not stroke.printable:
            return self._of_no_letter(stroke, typing)
        before, self._before = self._before, stroke
        if in_text:
            return KeyRoute.GIVE
        if self.pending or self._changed_at is not None:
            return KeyRoute.HOLD
        self._in_word |= careful and typing and before.in_word
        if self._in_word:
            return KeyRoute.DROP
        self._in_word, self._by_careful = not meant, self._by_careful or careful
        return KeyRoute.GIVE

    def _of_no_letter(self, stroke: KeyPress, typing: bool) -> KeyRoute:
        """Enter behind letters goes where they went; behind a letter that changed the screen it answers nothing."""
        if stroke.key != "enter":
            self._before, self._changed_at = _NOTHING_YET, None
            self._in_word = self._by_careful = False
            return KeyRoute.GIVE
        answers = self._by_careful or (self._changed_at is not None and self._by_letter)
        if self._in_word or answers:
            self._before = self._before._replace(at=stroke.at) if typing else self._before
            return KeyRoute.DROP
        self._before = _NOTHING_YET
        return KeyRoute.GIVE


class HeldKeys(Generic[Event]):
    """Keys typed ahead of a change of the screen, the oldest first, each with the event that brought it."""

    def __init__(self) -> None:
        """Hold none."""
        self._keys: list[tuple[Event, KeyPress]] = []
        self._of_word = False
        """The first of them belongs to a letter that somebody was given: to a word that the change broke."""
        self._by_operation = False
        """One of them came while an operation was under way: a question that it ends at was not expected."""

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def lead(self) -> str:
        """The first key, where it leads to a place or a dialog: the others are for that; empty: it does not."""
        first = self._keys[0][1].key if self._keys else ""
        return first if first in LEADING_KEYS else ""

    def hold(self, event: Event, stroke: KeyPress, *, of_word: bool = False, by_operation: bool = False) -> None:
        """Hold one more key.

        Args:
            event: what brought it.
            stroke: the key.
            of_word: it belongs to a letter that somebody was given.
            by_operation: an operation is under way.
        """
        if not self._keys:
            self._of_word, self._by_operation = of_word, by_operation
        self._by_operation |= by_operation
        self._keys.append((event, stroke))

    def is_command(self, now: float, command: Callable[[str], str], *, asks: bool) -> bool:
        """Return whether the first may be given as a command to a place that is no text line.

        Args:
            now: time in seconds.
            command: the name of the action of a key there; empty: none.
            asks: the place is a question.
        """
        strokes = [stroke for _, stroke in self._keys]
        if strokes[0].key in MOVING:
            return True
        late = now - strokes[0].at > _MOMENT
        asked = not (self._by_operation and asks)
        return not late and not self._of_word and may_follow(strokes, command, asked=asked)

    def take_first(self) -> Event:
        """Return the event of the oldest key, and hold that no longer."""
        return self._keys.pop(0)[0]

    def take_all(self) -> list[tuple[Event, KeyPress]]:
        """Return all, and hold none."""
        keys, self._keys = self._keys, []
        return keys


def may_follow(letters: Sequence[KeyPress], command: Callable[[str], str], *, asked: bool) -> bool:
    """Return whether the first of the keys typed ahead is given as a command to a place that is no text line.

    Every letter of its word has to be a command there that destroys and writes nothing. One letter alone may also be
    a command that only asks, in a dialog of its own. Enter is none: it may arm, or answer.

    Args:
        letters: the keys typed ahead, the first to be given now.
        command: the name of the action of a key there; empty: none.
        asked: False where the place is a question that a person did not expect.
    """
    word = list(takewhile(lambda one: one.in_word, letters)) or letters[:1]
    names = [command(one.key) for one in word]
    if not asked or "" in names or not letters[0].printable:
        return False
    if len(letters) == 1:
        return names[0] not in GUARDED_ACTIONS or names[0] in ASKING_ACTIONS
    return "why_not" not in names and not GUARDED_ACTIONS.intersection(names)
