"""Steps of following that a command behind `--` adds: its output between the events, and its end."""

from __future__ import annotations

import time
from typing import Final

from kernel.watch.watch import Watch
from tui.cli.follow.command_run import GRACE, CommandRun
from tui.cli.follow.event_printer import EventPrinter
from tui.cli.follow.signals import flush_output, is_stop_requested, requested_signal

_LOOK_EVERY: Final = 0.04
_READS: Final = 20
"""Tries to read all events of a command that has ended; processes that it left may make others without end."""


def print_output_beside(watch: Watch, printer: EventPrinter, run: CommandRun) -> None:
    """Print the output that has come, each line once no event before it can come any more; may wait for that."""
    number = run.waiting()
    if not run.is_beside_rows:
        run.print_all()
    elif number and not printer.waiting and watch.session is not None and watch.session.pump.settle():
        printer.tick()
        if not printer.waiting and not watch.intake.unsettled:
            run.print_first(number)


def end_command(watch: Watch, printer: EventPrinter, run: CommandRun) -> None:
    """End a command that still runs, and print its events: a signal that came is sent on to it, and ends it as it
    likes; without one it is ended at once.
    """
    if not run.has_begun:
        return
    if not run.has_ended and is_stop_requested():
        run.forward(requested_signal())
        _print_until_ended(watch, printer, run)
    if not run.has_ended:
        run.end()
    if watch.session is not None and not printer.has_reached_count:
        for _ in range(_READS):
            printer.tick()
            if watch.session.pump.settle():
                break
    if run.rows is not None:
        run.rows.end()  # behind its last events


def _print_until_ended(watch: Watch, printer: EventPrinter, run: CommandRun) -> None:
    end = time.monotonic() + GRACE
    while not run.has_ended and time.monotonic() < end and not watch.ended:
        if not printer.has_reached_count:
            printer.tick()
        print_output_beside(watch, printer, run)
        flush_output()
        time.sleep(_LOOK_EVERY)
