"""Judge the line of a command, hold its process under the armed probes; tell what is of all tasks all the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel.commands.command_line import read_command_line
from kernel.commands.held_program import HeldProgram, TerminalSize
from kernel.errors import KernelError
from kernel.watch.tasks.limit_notes import command_notes

if TYPE_CHECKING:
    from kernel.watch.watch import Watch
    from widgets.terminal.command_dialog import CommandWanted


def judge_line(text: str) -> tuple[bool, str]:
    """Return whether a line may be run, or is empty, and a text about it: the error, or that a shell runs it."""
    try:
        line = read_command_line(text)
    except ValueError as error:
        return not text.strip(), "" if not text.strip() else str(error)
    return True, "it has signs of a shell: sh runs it" if line.by_shell else ""


def hold_command(watch: Watch, wanted: CommandWanted, size: tuple[int, int]) -> HeldProgram:
    """Start the process of a command on the target, held, and limit the probes to it if that is wanted.

    Args:
        watch: watch whose probes are armed.
        wanted: the command.
        size: rows and columns of its terminal.

    Raises:
        KernelError: it could not be started, or can't be recorded alone; then no process is left.
    """
    program = HeldProgram(watch.info.target, read_command_line(wanted.line).words, size=TerminalSize(*size))
    try:
        watch.armed.limit_tasks((program.pid,) if wanted.limits_tasks else ())
    except KernelError:
        program.close()
        raise
    return program


def notes_on_limits(watch: Watch) -> Iterator[str]:
    """Yield what of the armed probes is of all tasks while a command runs that is recorded alone."""
    if watch.session is None:
        return
    for armed in watch.armed.probes:
        triggers = [text for _, text in watch.session.probes.triggers(armed)]
        yield from command_notes(armed.plan, triggers)
