"""Show the last events of a command that has ended, hold the rows at them, then let all tasks be recorded again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from textual.widget import Widget

from widgets.call_after import call_after

if TYPE_CHECKING:
    from kernel.commands.held_program import HeldProgram
    from tui.live.command.recorders import Recorders

LOOK_EVERY: Final = 0.05
"""Seconds between two looks at a command, or at what is to be shown."""
MOST_LOOKS: Final = 40
"""Number of times that events which have arrived are waited for until they are shown."""


class LastEvents:
    """See the module; one for each command."""

    def __init__(
        self,
        area: Widget,
        program: HeldProgram,
        recorders: Recorders,
        hold_rows: Callable[[], bool | None] | None,
        then: Callable[[Callable[[], None]], object],
        done: Callable[[bool, str], None],
        add_lines: Callable[[], bool],
    ) -> None:
        """Take a command that has ended, or is to end.

        Args:
            area: has the workers and the timer.
            program: the command.
            recorders: watches that were limited to it.
            hold_rows: holds the rows; returns True if they were followed, None where rows are still to be shown.
                None: they are not to be held.
            then: calls a function in the thread of the application.
            add_lines: called when the last events were read: puts the last lines of the command among them,
                if it can.
            done: gets whether the rows are held, then why not all tasks are recorded again; empty: they are.
        """
        self._area = area
        self._program = program
        self._recorders = recorders
        self._hold_rows = hold_rows
        self._then = then
        self._done = done
        self._add_lines = add_lines

    def begin(self) -> None:
        """End the command, and go on by workers."""
        self._run(self._collect)

    def _run(self, work: Callable[[], None]) -> None:
        self._area.run_worker(work, thread=True, group="command")

    def _collect(self) -> None:
        self._program.close()
        self._recorders.read_all()
        self._then(self._end_lines)

    def _end_lines(self) -> None:
        if self._add_lines():
            self._hold(MOST_LOOKS)
        else:
            call_after(self._area, LOOK_EVERY, self._end_lines)

    def _hold(self, looks: int) -> None:
        """Keep the last events on the screen, before those of all tasks come; `looks`: so often it may still wait."""
        are_held: bool | None = False
        if self._hold_rows is not None:
            are_held = self._hold_rows() if self._recorders.show_all() else None
            if are_held is None and looks:
                call_after(self._area, LOOK_EVERY, partial(self._hold, looks - 1))
                return
        self._run(partial(self._record_all, bool(are_held)))

    def _record_all(self, are_held: bool) -> None:
        error = self._recorders.record_all()
        self._then(partial(self._done, are_held, error))
