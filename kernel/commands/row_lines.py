"""Choose the lines of a command that become rows among the events: as they would be without a terminal, in bounded
number.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from foreign.count_text import counted
from kernel.commands.output_lines import LineSplitter, OutputLine

MOST_A_SECOND: Final = 1000
"""Lines of a second that become rows: more of them would push out the events of probes, and hold up the screen."""
_LAST: Final = 20
"""Lines at the end of a second that become rows in any case: the end of a flood tells the most."""
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
        self._goes_on: dict[str, bool] = {}
        """By stream, whether its next line is the rest of the last one."""
        self._second = 0
        """Seconds of the trace clock that the lines are counted for."""
        self._taken = self._left_out = 0
        self._last = deque[OutputLine]()
        """Last lines of the second, of which it is not known yet whether they become rows."""

    @property
    def held_from(self) -> int:
        """Time of the oldest line that may become a row later; the end of time where there is none."""
        return self._last[0].ts if self._last else sys.maxsize

    def take(self, lines: Iterable[OutputLine], until: int) -> list[OutputLine]:
        """Return the rows of some lines; of those between the first and the last of a second their number is a row.

        `until`: time up to which these lines, and those before, are all.
        """
        found: list[OutputLine] = []
        for line in lines:
            for whole in self._whole_lines(line):
                if self._is_rest(whole):
                    continue
                if whole.ts // _SECOND != self._second:
                    found += self.end_second()
                    self._second, self._taken = whole.ts // _SECOND, 0
                if self._taken < MOST_A_SECOND:
                    self._taken += 1
                    found += printed_lines([whole])
                else:
                    self._last.append(whole)
                    if len(self._last) > _LAST:
                        self._last.popleft()
                        self._left_out += 1
        return found + (self.end_second() if until // _SECOND > self._second else [])

    def _whole_lines(self, line: OutputLine) -> Sequence[OutputLine]:
        """Return the lines that end in a part of the output; what a person typed is none, and ends a prompt alone."""
        if line.stream == "echo":
            return self._terminal.finish(line.ts) if b"\n" in line.data else ()
        return self._terminal.split(line.ts, line.data) if line.stream == "terminal" else (line,)

    def _is_rest(self, line: OutputLine) -> bool:
        """Return whether the row of a line is that of its first part."""
        is_rest = self._goes_on.get(line.stream, False)
        self._goes_on[line.stream] = line.goes_on
        return is_rest

    def end_second(self) -> list[OutputLine]:
        """Return the last lines of a second, behind the number of those that were left out before them."""
        last, left_out = printed_lines(self._last), self._left_out
        text = f"{counted(left_out, 'line')} more, on the terminal alone"
        note = [OutputLine(self.held_from, "note", text.encode())] if left_out else []
        self._last.clear()
        self._left_out = 0
        return note + last

    def finish(self, ts: int) -> list[OutputLine]:
        """Return the rows of the last lines, of one without an end, too; `ts`: time of the end."""
        return [*self.end_second(), *printed_lines(self._terminal.finish(ts))]


def printed_lines(lines: Iterable[OutputLine]) -> list[OutputLine]:
    """Return lines of a terminal as they would be without one; lines that draw a screen are left out."""
    texts = [(line, _SEQUENCES.sub(b"", line.data)) for line in lines if not _DRAWN.search(line.data)]
    return [line._replace(data=text.rstrip(b"\r").rpartition(b"\r")[2]) for line, text in texts]
