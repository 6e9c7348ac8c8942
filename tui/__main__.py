"""Entry point of `probewright` and `python -m tui`: parse arguments, then run a command or the application."""

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
    """Open closed standard streams (`2>&-`) on /dev/null: else one of our files would get their number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 - as long as the process


def _parsed(words: list[str]) -> argparse.Namespace:
    """Parse the words; flush the output of `--help` and `--version` before the process ends."""
    from tui.cli.args.parser import parse

    try:
        try:
            return parse(words)
        except SystemExit:
            sys.stdout.flush()
            raise
    except BrokenPipeError:
        from tui.cli.follow.signals import discard_output

        discard_output()
        sys.exit(0)
    except OSError as error:
        from tui.cli.main import print_full_output

        sys.exit(print_full_output(error))


def main(argv: list[str] | None = None) -> int:
    """Run the command line.

    The exit status is 0 done, 1 refused or nothing found, 2 usage, 3 target unusable, 4 done on some of the hosts.
    """
    from tui.cli.args.fast_path import parse_simple

    if None in (sys.stdin, sys.stdout, sys.stderr):
        _open_closed()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # as standard error has it: an unencodable letter must not lose the text
        sys.stdout.reconfigure(errors="backslashreplace")
    if "JOURNAL_STREAM" in os.environ:
        from tui.cli.console.journal import install

        install()
    words = sys.argv[1:] if argv is None else argv
    if words[:2] == ["completion", "names"]:  # a shell asks, and a person waits
        from tui.cli.args.known_names import print_names

        return print_names(words[2:])
    arguments: argparse.Namespace | SimpleNamespace | None = parse_simple(words)
    if arguments is None:
        arguments = _parsed(words)
    from tui.cli.main import run

    status = run(arguments)
    if argv is None:
        gc.freeze()  # everything ends with the process: a collection at its end would take longer
    return status


if __name__ == "__main__":
    sys.exit(main())
