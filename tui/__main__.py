"""`probewright` and `python -m tui`: arguments to a command or to the application."""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from types import SimpleNamespace


def _open_closed() -> None:
    """Have standard streams that were closed (`2>&-`) lead nowhere: else a file of ours would get their number."""
    for number, name, how in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, how, closefd=False))  # noqa: SIM115 - as long as the process


def _parsed(words: list[str]) -> argparse.Namespace:
    """Read the words; what was printed for `--help` or `--version` has gone out before the process ends."""
    from tui.cli.args.parser import parse

    try:
        try:
            return parse(words)
        except SystemExit:
            sys.stdout.flush()
            raise
    except BrokenPipeError:
        from tui.cli.follow.signals import give_up_output

        give_up_output()
        sys.exit(0)
    except OSError as error:
        from tui.cli.main import not_given_out

        sys.exit(not_given_out(error))


def main(argv: list[str] | None = None) -> int:
    """Run the command line.

    The exit status is 0 done, 1 refused or nothing found, 2 usage, 3 target unusable, 4 done on some of the hosts.
    """
    from tui.cli.args.fast_path import plain

    if None in (sys.stdin, sys.stdout, sys.stderr):
        _open_closed()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as that of standard error: no text is lost for a letter
    if "JOURNAL_STREAM" in os.environ:
        from tui.cli.console.journal import install

        install()
    words = sys.argv[1:] if argv is None else argv
    arguments: argparse.Namespace | SimpleNamespace | None = plain(words)
    if arguments is None:
        arguments = _parsed(words)
    from tui.cli.main import run

    status = run(arguments)
    if argv is None:
        gc.freeze()  # all goes with the process: what the collector would look through at its end takes longer
    return status


if __name__ == "__main__":
    sys.exit(main())
