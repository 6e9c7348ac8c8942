"""From parsed arguments to one command; every error of the core ends here with its exit status."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys

from kernel.errors import KernelError, ProbeRefused

DONE, REFUSED, USAGE, UNUSABLE = range(4)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; messages for people go to standard error."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # what was opened is closed, as after an interrupt
    try:
        module = importlib.import_module(f"tui.cli.{arguments.command}")
        status: int = module.run(arguments)
        sys.stdout.flush()
    except ProbeRefused as error:
        from tui.cli.check import show_verdict

        show_verdict(error.verdict.command, error.verdict, [], sys.stderr)
        return REFUSED
    except KernelError as error:
        return fail(error, UNUSABLE)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read us has seen enough; the interpreter must not complain while it flushes at exit.
        sys.stderr.close()
        return DONE
    return status


def fail(error: KernelError, status: int) -> int:
    """Say what went wrong and the way out."""
    from tui.cli.output import plain

    print(f"probewright: {plain(str(error))}", file=sys.stderr)
    if error.remedy:
        print(f"  {plain(error.remedy)}", file=sys.stderr)
    return status
