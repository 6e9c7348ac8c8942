"""`probewright` and `python -m tui`: arguments to a command or to the application."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Run the command line; the exit status is 0 done, 1 refused or nothing found, 2 usage, 3 target unusable."""
    from tui.cli.parser import parse

    arguments = parse(sys.argv[1:] if argv is None else argv)
    from tui.cli.main import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
