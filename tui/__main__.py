"""`probewright` and `python -m tui`: arguments to a command or to the application."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from types import SimpleNamespace


def main(argv: list[str] | None = None) -> int:
    """Run the command line.

    The exit status is 0 done, 1 refused or nothing found, 2 usage, 3 target unusable, 4 done on some of the hosts.
    """
    from tui.cli.plain import plain

    if "JOURNAL_STREAM" in os.environ:
        from tui.cli.journal import install

        install()
    words = sys.argv[1:] if argv is None else argv
    arguments: argparse.Namespace | SimpleNamespace | None = plain(words)
    if arguments is None:
        from tui.cli.parser import parse

        arguments = parse(words)
    from tui.cli.main import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
