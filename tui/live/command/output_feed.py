"""Put the output of a command on its terminal, in portions that do not hold the screen up."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kernel.commands.held_program import HeldProgram
    from tui.live.command.command_rows import CommandRows
    from widgets.terminal.terminal_pane import TerminalPane

_PORTION: Final = 16 << 10
"""Bytes of output that are put on the terminal at once: some 40 ms."""


class OutputFeed:
    """Output that is not on the terminal yet."""

    def __init__(self, pane: TerminalPane) -> None:
        self._pane = pane
        self._waiting: deque[bytes] = deque()
        self.rows: list[CommandRows] = []
        """Rows of the watches that record."""

    def clear(self) -> None:
        """Drop what waits: another command begins."""
        self._waiting.clear()
        self.end_rows()

    def end_rows(self) -> bool:
        """Give rows to the last lines: the command has ended; False: try again."""
        self.rows = [rows for rows in self.rows if not rows.end()]
        return not self.rows

    def show_some(self, program: HeldProgram) -> int:
        """Put a portion on the terminal, and return its number of bytes; 0: all that came is there."""
        if not self._waiting:
            until = program.read_until  # before the look: what came until then is there
            lines = program.take_output()
            for rows in self.rows:
                rows.add(lines, until)
            for one in lines:
                data = one.data if one.goes_on else one.data + b"\r\n"
                self._waiting.extend(data[at : at + _PORTION] for at in range(0, len(data), _PORTION))
        shown = 0
        while self._waiting and shown < _PORTION:
            data = self._waiting.popleft()
            shown += len(data)
            self._pane.feed(data)
        return shown
