"""Report on standard error why a command waits: never on standard output, which a program may read.

On a terminal each text overwrites the one before. Elsewhere nothing is printed, unless a virtual machine is made for
the command, which takes from seconds to minutes: then each text is a line of its own.
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
    """Print each text from now on even if standard error is no terminal."""
    global _prints_lines
    _prints_lines = True


def show_progress(text: str, fraction: float | None = None) -> None:
    """Replace the text; `fraction` is the finished part, from 0 to 1."""
    global _text
    with _changing:
        if sys.stderr.isatty():
            share = "" if fraction is None else f" {fraction:.0%}"
            print(f"\r\x1b[K{plain(text)}{share}", end="", file=sys.stderr, flush=True)
        elif _prints_lines and text != _text:
            print(f"probewright: {plain(text)}", file=sys.stderr, flush=True)
        _text = text


def print_line(line: str) -> None:
    """Print a line of its own, and show the current text again below it."""
    with _changing, contextlib.suppress(OSError):  # the reader may be gone
        if sys.stderr.isatty():
            print(f"\r\x1b[Kprobewright: {plain(line)}", file=sys.stderr, flush=True)
            if _text:
                show_progress(_text)
        else:
            print(f"probewright: {plain(line)}", file=sys.stderr, flush=True)


def clear_progress() -> None:
    """Clear the text on the terminal."""
    global _text
    with _changing:
        if _text and sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        _text = ""


@contextlib.contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show a text until the block has ended or failed."""
    show_progress(text)
    try:
        yield
    finally:
        clear_progress()
