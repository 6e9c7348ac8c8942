"""Run one command for parsed arguments, and turn each error of the core into a message and an exit status."""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
from typing import TYPE_CHECKING

from kernel.errors import CommandNotStarted, KernelError, ProbeRefused, SingleTargetOnly
from kernel.guards.limits import TooFast
from probes.presets.errors import PresetError
from tui.cli.console.early import opening_early
from tui.cli.console.once import is_first_report, reset_reported
from tui.cli.follow.ending import Ending, reraise_lost_endings
from tui.cli.status import DONE, REFUSED, UNUSABLE, USAGE, UsageFault

if TYPE_CHECKING:
    import argparse
    from types import FrameType, SimpleNamespace, TracebackType

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of write(2) for a file that takes no more data."""


_ELSEWHERE = {
    "event_export": "tui.cli.exports.event_export",
    "boot": "tui.cli.boot.command",
    "compare": "tui.cli.compare.command",
}
"""Modules that run commands, where they are not in tui.cli.commands by the command's name."""


class _Ended(Ending, KeyboardInterrupt):
    """Request to end, by a signal; open resources are closed.

    Not the plain KeyboardInterrupt: if one passes through exec(), as while a dataclass is made, the interpreter kills
    itself with SIGINT at its end, caught or not (run_eval_code_obj of CPython's Python/pythonrun.c).
    """


def _end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as `signal` calls it
    raise _Ended


def run(arguments: argparse.Namespace | SimpleNamespace) -> int:
    """Run the command; messages go to standard error, also for an unexpected error."""
    try:
        status = _run(arguments)
    except Exception as error:
        status = print_unexpected_error(error)
    if not getattr(arguments, "program", ()):
        return status
    from tui.cli.follow.command_run import exit_status

    return exit_status(arguments, status)


def _run(arguments: argparse.Namespace | SimpleNamespace) -> int:
    reraise_lost_endings()
    reset_reported()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    status: int = DONE
    try:
        with opening_early(arguments):
            name = arguments.command
            module = importlib.import_module(_ELSEWHERE.get(name, f"tui.cli.commands.{name}"))
            status = module.run(arguments)
        sys.stdout.flush()
    except ProbeRefused as error:
        from tui.cli.console.journal import Level, at_priority
        from tui.cli.console.output import emit
        from tui.cli.console.verdict import refusal, show_verdict

        if getattr(arguments, "json", False):
            emit(refusal(error.verdict.command, error.verdict))
        with at_priority(Level.ERROR):
            show_verdict(error.verdict.command, error.verdict, [], sys.stderr)
        return REFUSED
    except (PresetError, UsageFault) as error:
        from tui.cli.console.journal import Level, at_priority
        from tui.cli.console.output import plain

        with at_priority(Level.ERROR):
            print(f"probewright: {plain(str(error))}", file=sys.stderr)
        return USAGE
    except TooFast as error:
        return print_error(error, REFUSED)
    except SingleTargetOnly as error:
        return print_error(error, USAGE)
    except CommandNotStarted as error:
        from kernel.commands.held_program import start_failure_status

        return print_error(error, start_failure_status(error.errno))
    except KernelError as error:
        return print_error(error, UNUSABLE)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has seen enough; the interpreter must not complain when it flushes at exit.
        sys.stderr.close()
        return status
    except OSError as error:
        return _not_written(error)
    return status


def _not_written(error: OSError) -> int:
    """Report that standard output takes no more data, for example on a full disk; raise any other error again."""
    if error.errno not in _FULL or not _is_printing(error.__traceback__):
        raise error
    return print_full_output(error)


def print_full_output(error: OSError) -> int:
    """Report that standard output takes no more data; return the exit status."""
    from tui.cli.follow.signals import discard_output

    discard_output()  # else the interpreter tries again at the exit, and complains
    return print_error(KernelError(f"standard output: {error.strerror}; some output was not written"), REFUSED)


def _is_printing(at: TracebackType | None) -> bool:
    """Tell whether a command failed to print: modules that write files report their own errors."""
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and at.tb_frame.f_globals.get("__name__", "").startswith("tui.cli.")


def print_unexpected_error(error: Exception) -> int:
    """Report an error that no command caught in one line: an input is damaged, or the program has a fault.

    In the second case the error is raised if PROBEWRIGHT_TRACEBACK is set, for a bug report.
    """
    from btf.errors import BtfError
    from events.recording.chunks import RecordingError
    from foreign.refusal import InputRefusal

    if isinstance(error, BtfError | RecordingError | InputRefusal):
        return print_error(KernelError(str(error)), UNUSABLE)
    if os.environ.get("PROBEWRIGHT_TRACEBACK"):
        raise error
    words = " ".join(str(error).split())[:200]
    remedy = "with PROBEWRIGHT_TRACEBACK=1 it says where: a report of it with the input helps to mend it"
    return print_error(KernelError(f"an error of the program: {type(error).__name__}: {words}", remedy), UNUSABLE)


def print_error(error: KernelError, status: int) -> int:
    """Print an error and its remedy; return the exit status."""
    from tui.cli.console.journal import Level, at_priority
    from tui.cli.console.output import plain

    with at_priority(Level.ERROR):
        if is_first_report(error):
            print(f"probewright: {plain(str(error))}", file=sys.stderr)
        if error.remedy:
            print(f"  {plain(error.remedy)}", file=sys.stderr)
    return status
