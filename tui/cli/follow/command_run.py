"""Run the command behind `--` while events are followed: release it, print its output in order of time, end it."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from events.kernel_time import seconds
from kernel.commands.held_program import HeldProgram, end_text, shell_status, start_failure_status
from kernel.commands.output_lines import OutputLine
from kernel.errors import TargetUnusable
from kernel.target import TargetKind
from tui.cli.console.output import emit, line
from tui.cli.follow.signals import flush_output, is_stop_requested, requested_signal
from tui.present.event_times import ClockFace, day_in_front

if TYPE_CHECKING:
    from kernel.target import Target
    from kernel.watch.watch import Watch
    from tui.live.command.command_rows import CommandRows

OWN_FAILURE: Final = 125
"""Exit status for a failure of ours where a command is run, as env(1) and timeout(1) have it."""
ENDED_BY_US: Final = 124
"""Exit status where the time or the number of events was reached and the command was ended, as of timeout(1)."""
_SETTLES: Final = 1.0
"""Seconds after the end of a command in which the kernel drops what it drops later."""
GRACE: Final = 5.0
"""Seconds from a signal that was sent on to the command until it is ended."""


class CommandRun:
    """Command that is held on a target, and runs while events are followed."""

    def __init__(self, program: HeldProgram, show: Callable[[OutputLine], None], *, limits_tasks: bool) -> None:
        """Take a held program, and what prints a line of its output.

        `limits_tasks`: only events of the program and its children are recorded; else those of all tasks, also those
        that come from what the kernel drops after its end: by task work, RCU and workers.
        """
        self.limits_tasks = limits_tasks
        self.has_begun = False
        """True once the command was released."""
        self.is_beside_rows = False
        """True if events are printed, too: lines wait until no older event can come."""
        self.rows: CommandRows | None = None
        """Rows of the lines among the events of a watch; None: there are none."""
        self._program = program
        self._show = show
        self._waiting: deque[OutputLine] = deque()
        self._collected_until = 0
        """Time of the trace clock, in nanoseconds: all older output waits here, or was printed."""
        self._was_ended = False
        self._ended_at = 0.0
        """Time by time.monotonic() at which the end was seen; 0: it was not."""

    @property
    def pid(self) -> int:
        """Process of the command, on its machine."""
        return self._program.pid

    @property
    def has_ended(self) -> bool:
        """True once the command has ended, and its output was collected."""
        ended = self._program.has_ended
        self._collect()
        return ended

    @property
    def is_over(self) -> bool:
        """True once the command has ended, and its last events have happened."""
        if not self.has_ended:
            return False
        self._ended_at = self._ended_at or time.monotonic()
        return self.limits_tasks or time.monotonic() - self._ended_at >= _SETTLES

    @property
    def status(self) -> int:
        """Exit status of the command, or why there is none, as shells, env(1) and timeout(1) have it."""
        if self._program.failure is not None:
            return start_failure_status(self._program.failure.errno)
        if self._was_ended:
            return ENDED_BY_US
        return OWN_FAILURE if self._program.exit_code is None else shell_status(self._program.exit_code)

    def place_beside_rows(self, show: Callable[[OutputLine], None]) -> None:
        """Print lines by another function, in one order of time with the events that are printed."""
        self.is_beside_rows, self._show = True, show

    def release(self) -> None:
        """Let the command run; a terminal that it got is its own until it ends."""
        if not self.has_begun:
            self.has_begun = True
            if os.isatty(0):
                signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # we print to it all the same
            self._program.release()

    def forward(self, sign: int) -> None:
        """Send a signal to the command."""
        self._program.send_signal(sign)

    def end(self) -> None:
        """End the command, as it was to run no longer; waits for that."""
        self._was_ended = True
        self._program.end()

    def stop(self) -> None:
        """End the command if it runs; a signal that came is sent on first. Prints its last output."""
        if self.has_begun and not self.has_ended:
            if is_stop_requested():
                self.forward(requested_signal())
                self._program.wait(GRACE)
            if not self.has_ended:
                self.end()
        self.print_all()

    def holds_back(self, ts: int) -> bool:
        """Return whether an older line than an event may still come, which is to be printed before it."""
        if not self.is_beside_rows or not self.has_begun or ts <= self._collected_until:
            return False
        until = self._program.read_until
        self.waiting()  # behind that time: what came until then is there
        self._collected_until = until
        if ts <= until:
            return False
        self._program.ask_time()
        return True

    def waiting(self) -> int:
        """Return the number of lines that are not printed yet."""
        self._collect()
        return len(self._waiting)

    def _collect(self) -> None:
        """Take the lines that have come."""
        until = self._program.read_until  # before the look: what came until then is there
        lines = self._program.take_output()
        self._waiting.extend(lines)
        if self.rows is not None:
            self.rows.add(lines, until)

    def place_among_events(self, watch: Watch) -> None:
        """Give each line a row among the events of a watch, and in its recording, in addition to printing it."""
        from tui.live.command.command_rows import CommandRows

        self.rows = CommandRows(self._program, watch)

    def print_before(self, ts: int) -> None:
        """Print the lines that are no younger than a time of the trace clock, in nanoseconds."""
        while self._waiting and self._waiting[0].ts <= ts:
            self._show(self._waiting.popleft())

    def print_first(self, number: int) -> None:
        """Print so many lines, the oldest ones."""
        for _ in range(min(number, len(self._waiting))):
            self._show(self._waiting.popleft())

    def print_all(self) -> None:
        """Print the lines that have come."""
        self.print_first(self.waiting())

    @property
    def end_text(self) -> str:
        """Text about the end of the command, in a line; empty: with status 0, or it never ran."""
        if self._program.failure is None and not self.has_begun:
            return ""
        return end_text(self._program, was_ended=self._was_ended)


def print_output(one: OutputLine) -> None:
    """Print a line of a command on standard error, where no events are printed."""
    print(_printable(one), file=sys.stderr, flush=True)


def print_between_rows(watch: Watch, one: OutputLine, *, as_json: bool, face: ClockFace) -> None:
    """Print a line of a command beside events: on standard error with its time, or as a JSON object."""
    if as_json:
        emit({"ts": one.ts, "stream": one.stream, "text": one.text, **({"goes_on": True} if one.goes_on else {})})
        return
    flush_output()  # rows before it may go to the same terminal
    day = day_in_front(watch, one.ts, watch.store.next_seq if watch.store is not None else 0, face)
    text = f"{day}{seconds(one.ts)} [{one.stream.removeprefix('std')}] {_printable(one)}"
    print(text, file=sys.stderr, flush=True)


def _printable(one: OutputLine) -> str:
    return line(one.data.decode("utf-8", "backslashreplace").expandtabs())


def hold_program(target: Target, arguments: argparse.Namespace) -> HeldProgram:
    """Start the command behind `--`, and hold it. Raises CommandNotStarted, TargetUnusable."""
    if target.kind is TargetKind.SAVED:
        raise TargetUnusable(f"{target.name}: nothing runs there: no command can be run on a recording")
    return HeldProgram(target, arguments.program, takes_input=True)


@contextlib.contextmanager
def command_of(target: Target, arguments: argparse.Namespace, *, limits_tasks: bool) -> Iterator[CommandRun | None]:
    """Hold the command behind `--` until `follow` releases it, and end it with the block; None: there is none.

    A lost connection is not made again: it ends the command. Raises CommandNotStarted, TargetUnusable.
    """
    if not arguments.program:
        yield None
        return
    program = hold_program(target, arguments)
    run = CommandRun(program, print_output, limits_tasks=limits_tasks)
    arguments.command_run, arguments.reconnect = run, 0
    try:
        yield run
    finally:
        program.close()


def command_run_of(arguments: argparse.Namespace) -> CommandRun | None:
    """Return the command that runs while events are followed; None: there is none."""
    found: CommandRun | None = getattr(arguments, "command_run", None)
    return found


def keep_status(arguments: argparse.Namespace, run: CommandRun | None) -> None:
    """Report how the command ended, and keep its status for `tui.cli.main`."""
    if run is not None:
        arguments.command_status = run.status if run.has_begun else OWN_FAILURE
        if text := run.end_text or ("" if run.has_begun else "stopped before all was armed: the command did not run"):
            print(f"probewright: {line(text)}", file=sys.stderr)


def exit_status(arguments: object, own: int) -> int:
    """Return the exit status where a command was run: its own, else one that tells that the failure is ours.

    `own`: status of ours; 130: a signal came before anything was armed.
    """
    if not getattr(arguments, "program", ()) or getattr(arguments, "command", "") not in ("run", "record"):
        return own
    if own == 0:
        kept: int = getattr(arguments, "command_status", own)
        return kept
    return own if own in (126, 127, 130) else OWN_FAILURE
