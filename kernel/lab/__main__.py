"""Boots one guest and keeps it: `python -m kernel.lab KERNEL [--no-python] [--append WORDS] [-- COMMAND]`.

Prints the ssh command line, runs COMMAND in the guest if there is one, and stays until standard input closes.
"""

from __future__ import annotations

import argparse
import shlex
import sys

from kernel.lab.errors import LabError
from kernel.lab.guest import boot
from kernel.lab.work import Progress


def _show(progress: Progress) -> None:
    percent = "" if progress.fraction is None else f" {progress.fraction:4.0%}"
    print(f"\r\x1b[K{progress.text}{percent}", end="", file=sys.stderr, flush=True)


def main() -> int:
    """Exit status 1 when there is no guest or COMMAND fails."""
    parser = argparse.ArgumentParser(prog="python -m kernel.lab", description="boot a throw-away machine and keep it")
    parser.add_argument("kernel", help="6.1, 7.2, arm64:6.12, 7.2-rt, a path, or full")
    parser.add_argument("--no-python", action="store_true", help="a guest with a shell only")
    parser.add_argument("--append", default="", help="more words for the kernel's command line")
    parser.add_argument("command", nargs="*", help="after --: what to run in the guest")
    options = parser.parse_args()
    try:
        with boot(options.kernel, python=not options.no_python, append=options.append, progress=_show) as guest:
            print("\r\x1b[K", end="", file=sys.stderr)
            print(shlex.join(guest.ssh_command), flush=True)
            if options.command:
                print(guest.run(" ".join(options.command)).decode(errors="replace"), end="", flush=True)
            sys.stdin.read()
    except LabError as error:
        print(f"\n{error}\n{error.remedy}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
