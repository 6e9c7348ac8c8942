"""Choose the lines of a command that become rows among the events: as they would be without a terminal, in bounded
number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from foreign.count_text import counted
from kernel.commands.output_lines import LineSplitter, OutputLine

MOST_A_SECOND: Final = 1000
"""Lines of a second that become rows: more of them would push out the events of probes, and hold up the screen."""
_SECOND: Final = 1_000_000_000
_DRAWN: Final = re.compile(rb"\x1b(?:\[[0-9;?]*+[ABCDEFHJSTdfrsu]|\[\?(?:47|1047|1049)[hl]|[78DM])")
"""Sequences that draw a screen: such lines are no text, and stay on the terminal alone."""
_SEQUENCES: Final = re.compile(
    rb"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|[\]P^_X][^\x07\x1b]*+(?:\x07|\x1b\\)?|[ -/]*+[0-~])"
    rb"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
"""Sequences of a terminal and control characters, without tab and carriage return."""


class RowLines:
    """Lines of one command on their way to rows, in order of time."""

    def __init__(self) -> None:
        self._terminal = LineSplitter("tty")
        self._second = 0
        """Seconds of the trace clock that the lines are counted for."""
        self._taken = self._left_out = 0

    def take(self, lines: Iterable[OutputLine]) -> list[OutputLine]:
        """Return the rows of some lines; of more than `MOST_A_SECOND` their number is a row."""
        found: list[OutputLine] = []
        for line in lines:
            for whole in self._terminal.split(line.ts, line.data) if line.stream == "terminal" else (line,):
                if whole.ts // _SECOND != self._second:
                    found += self.end_second(whole.ts)
                    self._second, self._taken = whole.ts // _SECOND, 0
                if self._taken < MOST_A_SECOND:
                    self._taken += 1
                    found += printed_lines([whole])
                else:
                    self._left_out += 1
        return found

    def end_second(self, ts: int) -> list[OutputLine]:
        """Return a row with the number of the lines that were left out, where there are such; `ts`: its time."""
        left_out, self._left_out = self._left_out, 0
        text = f"{counted(left_out, 'line')} more, on the terminal alone"
        return [OutputLine(ts, "note", text.encode())] if left_out else []

    def finish(self, ts: int) -> list[OutputLine]:
        """Return the rows of a last line without an end, and of lines that were left out; `ts`: time of the end."""
        return [*self.end_second(ts), *printed_lines(self._terminal.finish(ts))]


def printed_lines(lines: Iterable[OutputLine]) -> list[OutputLine]:
    """Return lines of a terminal as they would be without one; lines that draw a screen are left out."""
    texts = [(line, _SEQUENCES.sub(b"", line.data)) for line in lines if not _DRAWN.search(line.data)]
    return [line._replace(data=text.rstrip(b"\r").rpartition(b"\r")[2]) for line, text in texts]
