"""The watches that record while a command runs: that of the armed probes, and that of the tracer of calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from kernel.errors import KernelError
from kernel.watch.tasks.limit_notes import command_notes

if TYPE_CHECKING:
    from kernel.commands.held_program import HeldProgram
    from kernel.watch.watch import Watch
    from tui.live.command.command_rows import CommandRows
    from tui.workbench import Workbench

_LONGEST_READ: Final = 3.0
"""Seconds for the last events of a command to come from a slow machine."""
_LAST_TICK: Final = 0.2
"""Seconds of CPU time that the last events of a command may take before the rows are held."""


class Recorders:
    """Watches of one target under which a command runs; `limit`, `read_all` and `record_all` wait for the kernel."""

    def __init__(self, watches: Sequence[Watch]) -> None:
        self.watches = tuple(watches)

    @property
    def _open(self) -> list[Watch]:
        """Watches with a session, whether a probe is armed in it still or not."""
        return [one for one in self.watches if one.session is not None and not one.queue.closed and not one.ended]

    def are_of(self, bench: Workbench) -> bool:
        """Return whether the target that they are of is the one that is open."""
        return all(one.planner is bench.planner for one in self.watches)

    def hold_programs(self) -> None:
        """Have BPF programs record nothing until `limit` or `record_all`. Raises KernelError: one of them can't."""
        for watch in self.watches:
            watch.task_limit.hold_programs()

    def limit(self, tasks: Sequence[int]) -> None:
        """Record some tasks and those that they make alone (thread ids); empty: all tasks.

        Raises KernelError: one of them can't, and all record all tasks.
        """
        done: list[Watch] = []
        try:
            for watch in self.watches:
                done.append(watch)
                watch.task_limit.set(tasks)
        except KernelError:
            for watch in done if tasks else ():
                with contextlib.suppress(KernelError):
                    watch.task_limit.set(())
            raise

    def rows_of(self, program: HeldProgram) -> list[CommandRows]:
        """Return the rows of a command's output among the events of probes; a tracer of calls has none."""
        from tui.live.command.command_rows import CommandRows

        return [CommandRows(program, one) for one in self._open if not one.queue.source.traces]

    def read_all(self) -> None:
        """Bring what was recorded into the queues."""
        for watch in self._open:
            watch.armed.read_all(_LONGEST_READ)

    def show_all(self) -> bool:
        """Give rows to what is in the queues; return True if nothing is left there. For the thread of `tick`."""
        for watch in self.watches:
            watch.tick(_LAST_TICK)
        if any(watch.intake.has_backlog or watch.queue.entries for watch in self.watches):
            return False
        for watch in self.watches:
            if watch.store is not None:
                watch.store.flush()  # of no CPU an older event is to come
        return True

    def record_all(self) -> str:
        """Record all tasks again; return why not, empty: they are recorded."""
        errors = []
        for watch in self._open:
            try:
                watch.task_limit.set(())
            except KernelError as error:
                errors.append(str(error))
        return "; ".join(errors)

    def notes_on_limits(self) -> Iterator[str]:
        """Yield what is recorded of all tasks while a command runs that is recorded alone."""
        for watch in self.watches:
            if watch.session is not None:
                for armed in watch.armed.probes:
                    triggers = [text for _, text in watch.session.probes.triggers(armed)]
                    yield from command_notes(armed.plan, triggers)


def recorders_of(bench: Workbench) -> Recorders:
    """Return the watches that record now."""
    probes, calls = bench.current_watch, bench.tracing.current_watch
    found = [probes] if probes is not None and probes.live and probes.armed.probes else []
    found += [calls] if calls is not None and bench.tracing.runs else []
    return Recorders(found)
