"""Boot one guest and keep it running: `python -m kernel.lab KERNEL [--no-python] [--append WORDS] [-- COMMAND]`.

Prints the ssh command line, runs COMMAND in the guest if there is one, and stays until standard input closes.
"""

from __future__ import annotations

import argparse
import shlex
import sys

from kernel.lab.errors import LabError
from kernel.lab.guest import boot
from kernel.lab.work import Progress

_last_text = ""


def _show(progress: Progress) -> None:
    global _last_text
    percent = "" if progress.fraction is None else f" {progress.fraction:4.0%}"
    if sys.stderr.isatty():
        print(f"\r\x1b[K{progress.text}{percent}", end="", file=sys.stderr, flush=True)
    elif progress.text != _last_text:
        print(progress.text, file=sys.stderr, flush=True)
    _last_text = progress.text


def main() -> int:
    """Run the command line; return exit status 1 if there is no guest or COMMAND fails."""
    parser = argparse.ArgumentParser(prog="python -m kernel.lab", description="boot a throw-away machine and keep it")
    parser.add_argument("kernel", help="6.1, 7.2, arm64:6.12, riscv64:7.2, 7.2-rt, a path, or full")
    parser.add_argument("--no-python", action="store_true", help="a guest with a shell only")
    parser.add_argument("--append", default="", help="more words for the kernel's command line")
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)  # argparse takes `--` only right after the kernel
    options, command = parser.parse_args(words[:end]), " ".join(words[end + 1 :])
    try:
        with boot(options.kernel, python=not options.no_python, append=options.append, progress=_show) as guest:
            if sys.stderr.isatty():
                print("\r\x1b[K", end="", file=sys.stderr)
            print(shlex.join(guest.ssh_command), flush=True)
            if command:
                print(guest.run(command).decode(errors="replace"), end="", flush=True)
            sys.stdin.read()
    except LabError as error:
        print(f"\n{error}\n{error.remedy}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
