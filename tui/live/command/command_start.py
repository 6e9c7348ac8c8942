"""Judge the line of a command, and hold its process while what records is limited to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kernel.commands.command_line import read_command_line
from kernel.commands.held_program import HeldProgram, TerminalSize
from kernel.errors import KernelError, TargetLost
from tui.live.command.recorders import Recorders

if TYPE_CHECKING:
    from kernel.target import Target
    from widgets.terminal.command_dialog import CommandWanted


_PATIENCE: Final = 5.0
"""Seconds for a slow machine to tell its time."""


class NotLimited(KernelError):
    """Refusal to limit a recorder to a command."""


def judge_line(text: str) -> tuple[bool, str]:
    """Return whether a line may be run, or is empty, and a text about it: the error, or that a shell runs it."""
    try:
        line = read_command_line(text)
    except ValueError as error:
        return not text.strip(), "" if not text.strip() else str(error)
    return True, "it has signs of a shell: sh runs it" if line.by_shell else ""


def hold_command(target: Target, recorders: Recorders, wanted: CommandWanted, size: tuple[int, int]) -> HeldProgram:
    """Start the process of a command, held, and limit what records to it if that is wanted.

    Args:
        target: machine on which it runs.
        recorders: watches that record.
        wanted: the command.
        size: rows and columns of its terminal.

    Raises:
        NotLimited: it can't be recorded alone. No process is left.
        KernelError: it could not be started, or the connection is lost. No process is left.
    """
    words = read_command_line(wanted.line).words
    if not wanted.limits_tasks:
        return _hold(target, recorders, words, size, limits_tasks=False)
    try:
        try:
            recorders.hold_programs()  # what runs the command has events of its own until it can be excluded
        except KernelError as error:
            raise _not_limited(error) from error
        return _hold(target, recorders, words, size, limits_tasks=True)
    except KernelError:
        recorders.record_all()
        raise


def _hold(
    target: Target, recorders: Recorders, words: Sequence[str], size: tuple[int, int], *, limits_tasks: bool
) -> HeldProgram:
    program = HeldProgram(target, words, size=TerminalSize(*size))
    try:
        recorders.limit((program.pid,) if limits_tasks else ())
        program.wait_for_time(_PATIENCE)  # all that is recorded of others is older
    except KernelError as error:
        program.close()
        if not limits_tasks:
            raise
        raise _not_limited(error) from error
    return program


def _not_limited(error: KernelError) -> KernelError:
    return error if isinstance(error, TargetLost) else NotLimited(str(error))
