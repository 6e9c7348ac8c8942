"""Put the lines that a command writes among the events of a watch, in one order of time."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kernel.commands.output_lines import LineSplitter, OutputLine
from kernel.commands.output_pages import OUTPUT_FORMAT, OUTPUT_PLAN, output_batch
from kernel.session.armed import Armed

if TYPE_CHECKING:
    from kernel.commands.held_program import HeldProgram
    from kernel.watch.watch import Watch

_SETTLES: Final = 300_000_000
"""Nanoseconds after which all events before a line were read, as far as the machine keeps up."""
_DRAWN: Final = re.compile(rb"\x1b(?:\[[0-9;?]*+[ABCDEFHJSTdfrsu]|\[\?(?:47|1047|1049)[hl]|[78DM])")
"""Sequences that draw a screen: such lines are no text, and stay on the terminal alone."""
_SEQUENCES: Final = re.compile(
    rb"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|[\]P^_X][^\x07\x1b]*+(?:\x07|\x1b\\)?|[ -/]*+[0-~])"
    rb"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
"""Sequences of a terminal and control characters, without tab and carriage return."""


class CommandRows:
    """Lines of one command on their way into the store of a watch, and its recording."""

    def __init__(self, program: HeldProgram, watch: Watch) -> None:
        """Hold the rows of the watch until older lines are there; `end` lets them go."""
        self._program = program
        self._watch = watch
        self._waiting: list[OutputLine] = []
        self._until = program.read_until
        """Time up to which all lines are in the queue."""
        self._terminal = LineSplitter("tty")
        self._is_known = False
        watch.intake.known_until = lambda: self._until

    def add(self, lines: Sequence[OutputLine], until: int) -> None:
        """Add lines, the oldest first; `until`: time up to which these, and those before, are all."""
        for line in lines:
            if line.stream == "terminal":
                self._waiting += printed_lines(self._terminal.split(line.ts, line.data))
            else:
                self._waiting.append(line)
        if until < sys.maxsize:  # else it has ended: its last events are to be read first
            self._put(until - _SETTLES)
            self._program.ask_time()

    def end(self) -> bool:
        """Add the last lines, and hold no rows any more; False: a worker is busy with the kernel, try again."""
        self._waiting += printed_lines(self._terminal.finish(max(0, self._until)))
        return self._put(sys.maxsize)

    def _put(self, until: int) -> bool:
        """Put the lines up to a time into the queue; False: a worker is busy with the kernel."""
        settled = [line for line in self._waiting if line.ts <= until]
        session = self._watch.session
        if settled and session is not None:
            known = () if self._is_known else (Armed(OUTPUT_PLAN, {OUTPUT_FORMAT.id: OUTPUT_FORMAT}),)
            if not self._watch.queue.add([*known, output_batch(settled, self._program.pid, session.header)]):
                return False
            self._watch.event_fields.add_plan(OUTPUT_PLAN)
            self._is_known = True
        self._waiting = self._waiting[len(settled) :]
        self._until = until
        return True


def printed_lines(lines: Sequence[OutputLine]) -> list[OutputLine]:
    """Return lines of a terminal as they would be without one; lines that draw a screen are left out."""
    texts = [(line, _SEQUENCES.sub(b"", line.data)) for line in lines if not _DRAWN.search(line.data)]
    return [line._replace(data=text.rstrip(b"\r").rpartition(b"\r")[2]) for line, text in texts]
