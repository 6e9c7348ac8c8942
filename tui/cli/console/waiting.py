"""Tell on standard error why a command is waiting: never on standard output, which may be read by a program.

On a terminal the text stands in a line that the next text overwrites. Elsewhere nothing is printed, unless a machine
is made for the command, which takes from seconds to minutes: then each text is a line of its own.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

from kernel.printable import plain

_changing = threading.RLock()
_text = ""
_prints_lines = False


def print_lines() -> None:
    """Print each text from now on also where standard error is no terminal."""
    global _prints_lines
    _prints_lines = True


def progress(text: str, fraction: float | None = None) -> None:
    """Replace the text; `fraction` is the part that is done, of 1."""
    global _text
    with _changing:
        if sys.stderr.isatty():
            share = "" if fraction is None else f" {fraction:.0%}"
            print(f"\r\x1b[K{plain(text)}{share}", end="", file=sys.stderr, flush=True)
        elif _prints_lines and text != _text:
            print(f"probewright: {plain(text)}", file=sys.stderr, flush=True)
        _text = text


def told(line: str) -> None:
    """Print a line of its own, and stay at the text that is waited at."""
    with _changing, contextlib.suppress(OSError):  # nobody may read it
        if sys.stderr.isatty():
            print(f"\r\x1b[Kprobewright: {plain(line)}", file=sys.stderr, flush=True)
            if _text:
                progress(_text)
        else:
            print(f"probewright: {plain(line)}", file=sys.stderr, flush=True)


def finished() -> None:
    """Take the text off the terminal."""
    global _text
    with _changing:
        if _text and sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        _text = ""


@contextlib.contextmanager
def waiting(text: str) -> Iterator[None]:
    """Tell what is waited for, until it is there or has failed."""
    progress(text)
    try:
        yield
    finally:
        finished()
