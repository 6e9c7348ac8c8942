"""Screen of a command that runs in a terminal: characters, colours, cursor, lines that went up; pyte's, bounded.

Imported with the first command: pyte takes a moment.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final, NamedTuple

import pyte
from pyte.screens import Char

from widgets.terminal.output_filter import OutputFilter

_KEYS_OF_CURSOR: Final = 1 << 5
_PASTE_MARKS: Final = 2004 << 5
"""Modes in pyte's numbers: private ones are shifted."""
_OTHER_SCREEN: Final = frozenset({47, 1047, 1049})
_MOST_ANSWERS: Final = 1024
"""Characters of answers to requests of the command (place of the cursor, kind of terminal); more are dropped."""


class Look(NamedTuple):
    """Appearance of characters: colours by name or six hexadecimal digits, `default` for none."""

    foreground: str = "default"
    background: str = "default"
    bold: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    reverse: bool = False


class Run(NamedTuple):
    """Characters in a row that look the same."""

    text: str
    look: Look


Line = tuple[Run, ...]


class _BoundedScreen(pyte.Screen):
    """Screen that keeps a bounded number of lines that went up, and one saved cursor."""

    def __init__(self, columns: int, rows: int, history: int) -> None:
        self.gone: deque[Line] = deque(maxlen=history)
        self.answers = ""
        self._first: dict[int, Any] | None = None
        """Lines of the first screen while the other one is shown; None: the first one is."""
        super().__init__(columns, rows)

    def reset(self) -> None:
        """Begin anew, on the first screen."""
        self._first = None
        super().reset()

    def index(self) -> None:
        """Move down by a line; keep the one that goes out at the top."""
        top, bottom = self.margins or (0, self.lines - 1)
        if self.cursor.y == bottom and top == 0 and self._first is None:
            self.gone.append(line_of(self.buffer[0], self.columns))
        super().index()

    def erase_in_line(self, how: int = 0, private: bool = False) -> None:
        """Erase a part of the line; one that no terminal knows is ignored, on which pyte fails."""
        if how in range(3):
            super().erase_in_line(how, private)

    def erase_in_display(self, how: int = 0, *args: object, **kwargs: object) -> None:
        """Erase a part of the screen; one that no terminal knows is ignored, on which pyte fails."""
        if how in range(4):
            super().erase_in_display(how, *args, **kwargs)

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Change the size; lines that have no room any more go up."""
        for row in range(max(0, self.lines - (lines or self.lines)) if self._first is None else 0):
            self.gone.append(line_of(self.buffer[row], self.columns))
        super().resize(lines, columns)
        self.cursor.y, self.cursor.x = min(self.cursor.y, self.lines - 1), min(self.cursor.x, self.columns)

    def save_cursor(self) -> None:
        """Save the cursor; all but the last two are forgotten (one is of `resize`)."""
        super().save_cursor()
        del self.savepoints[:-2]

    def set_mode(self, *modes: int, **kwargs: bool) -> None:
        """Set modes; that of the other screen begins an empty one."""
        super().set_mode(*modes, **kwargs)
        if kwargs.get("private") and _OTHER_SCREEN.intersection(modes) and self._first is None:
            self.save_cursor()
            self._first = dict(self.buffer)
            self.buffer.clear()

    def reset_mode(self, *modes: int, **kwargs: bool) -> None:
        """Reset modes; that of the other screen brings the first one back."""
        super().reset_mode(*modes, **kwargs)
        if kwargs.get("private") and _OTHER_SCREEN.intersection(modes) and self._first is not None:
            self.buffer.clear()
            self.buffer.update({row: line for row, line in self._first.items() if row < self.lines})
            self._first = None
            self.restore_cursor()
            self.cursor.y, self.cursor.x = min(self.cursor.y, self.lines - 1), min(self.cursor.x, self.columns)

    def write_process_input(self, data: str) -> None:
        """Keep an answer for the command."""
        self.answers = (self.answers + data)[:_MOST_ANSWERS]


class Emulator:
    """Terminal of a command: give it output, and draw its lines."""

    def __init__(self, rows: int, columns: int, history: int = 2000) -> None:
        """Begin with an empty screen; `history`: lines that went up and are kept."""
        self._screen = _BoundedScreen(max(1, columns), max(1, rows), history)
        self._stream = pyte.Stream(self._screen)
        self._filter = OutputFilter()

    @property
    def rows(self) -> int:
        """Number of lines of the screen."""
        return self._screen.lines

    @property
    def columns(self) -> int:
        """Number of columns."""
        return self._screen.columns

    def feed(self, data: bytes) -> bytes:
        """Take output; return what the terminal answers to the command."""
        self._stream.feed(self._filter.feed(data))
        answers, self._screen.answers = self._screen.answers, ""
        return answers.encode()

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of the screen."""
        self._screen.resize(max(1, rows), max(1, columns))

    @property
    def cursor(self) -> tuple[int, int] | None:
        """Row and column of the cursor; None: it is hidden."""
        cursor = self._screen.cursor
        return None if cursor.hidden else (cursor.y, min(cursor.x, self.columns - 1))

    @property
    def keys_of_cursor(self) -> bool:
        """True if the command wants the arrow keys as ESC O."""
        return _KEYS_OF_CURSOR in self._screen.mode

    @property
    def marks_paste(self) -> bool:
        """True if the command wants marks around what is pasted."""
        return _PASTE_MARKS in self._screen.mode

    @property
    def gone(self) -> int:
        """Number of lines that went up and are kept."""
        return len(self._screen.gone)

    def line(self, number: int) -> Line:
        """Return a line: from 0 those that went up, the oldest first, then those of the screen."""
        gone = self._screen.gone
        if number < len(gone):
            return gone[number]
        row = number - len(gone)
        return line_of(self._screen.buffer[row], self.columns) if row < self.rows else ()

    def text(self) -> str:
        """Return all lines as text, without blanks at their ends."""
        lines = ["".join(run.text for run in self.line(number)).rstrip() for number in range(self.gone + self.rows)]
        return "\n".join(lines).rstrip("\n")


def line_of(cells: dict[int, Char], columns: int) -> Line:
    """Return a line of a screen, without the blanks at its end that look like none."""
    used = max((column for column in cells if column < columns), default=-1) + 1
    return tuple(_runs(cells, used))


def _runs(cells: dict[int, Char], used: int) -> Iterator[Run]:
    for look, group in groupby((cells[column] for column in range(used)), lambda cell: cell[1:8]):
        yield Run("".join(cell.data for cell in group), Look(*look))
