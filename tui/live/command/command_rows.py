"""Put the lines that a command writes among the events of a watch, in one order of time."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from events.clocks.boots import task_key
from kernel.commands.output_lines import OutputLine
from kernel.commands.output_pages import OUTPUT_FORMAT, OUTPUT_PLAN, output_batch
from kernel.commands.row_lines import RowLines
from kernel.session.armed import Armed

if TYPE_CHECKING:
    from kernel.commands.held_program import HeldProgram
    from kernel.watch.watch import Watch

_SETTLES: Final = 300_000_000
"""Nanoseconds after which all events before a line were read, as far as the machine keeps up."""

_LONGEST_NAME: Final = 15
"""Bytes of a task's name (TASK_COMM_LEN of include/linux/sched.h, without the end)."""


class CommandRows:
    """Lines of one command on their way into the store of a watch, and its recording."""

    def __init__(self, program: HeldProgram, watch: Watch) -> None:
        """Hold the rows of the watch until older lines are there; `end` lets them go."""
        self._program = program
        self._watch = watch
        self._waiting: list[OutputLine] = []
        self._until = program.read_until
        """Time up to which all lines are in the queue."""
        self._lines = RowLines()
        self._is_known = False
        watch.intake.known_until = lambda: self._until

    def add(self, lines: Sequence[OutputLine], until: int) -> None:
        """Add lines, the oldest first; `until`: time up to which these, and those before, are all."""
        self._waiting += self._lines.take(lines, until)
        if until < sys.maxsize:  # else it has ended: its last events are to be read first
            self._put(min(until - _SETTLES, self._lines.held_from - 1))
            self._program.ask_time()

    def end(self) -> bool:
        """Add the last lines, and hold no rows any more; False: a worker is busy with the kernel, try again."""
        self._waiting += self._lines.finish(max(0, self._until))
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
        self._name_task()
        return True

    def _name_task(self) -> None:
        """Name the task of the command after its program, until the kernel tells its name: it may have no event."""
        store, pid = self._watch.store, self._program.pid
        if store is None or not self._is_known:
            return
        if task_key(pid, store.boots.latest) not in store.task_names.known:
            self._watch.intake.know_names({pid: os.path.basename(self._program.words[0])[:_LONGEST_NAME]})
