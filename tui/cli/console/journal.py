"""Standard error as systemd's journal reads it: a line, its priority in front, and no control characters.

A service's standard error is a socket of the journal, and `JOURNAL_STREAM` says which (systemd.exec(5)). A line that
begins with `<N>` is kept with that priority (sd-daemon(3)). Where standard error is a file or a terminal, all of this
changes nothing.
"""

from __future__ import annotations

import contextlib
import enum
import io
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import TextIO


class Level(enum.IntEnum):
    """Priorities of syslog(3)."""

    ERROR = 3
    """Nothing comes of what was asked for, or something is left behind."""
    WARNING = 4
    """Something was lost, dropped or stopped."""
    INFO = 6


class _Said(threading.local):
    level = Level.INFO


_said = _Said()


@contextlib.contextmanager
def saying(level: Level) -> Iterator[None]:
    """What this thread prints to standard error meanwhile is of this priority."""
    before, _said.level = _said.level, level
    try:
        yield
    finally:
        _said.level = before


def is_journal(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether a stream is the one that `JOURNAL_STREAM` names, `DEVICE:INODE`: what a child redirects is not."""
    device, _, inode = environment.get("JOURNAL_STREAM", "").partition(":")
    try:
        about = os.fstat(stream.fileno())
    except (OSError, ValueError):  # closed, or no file at all
        return False
    return (device, inode) == (str(about.st_dev), str(about.st_ino))


def install(environment: Mapping[str, str] = os.environ) -> None:
    """From now on standard error is written as the journal wants it, where it goes there."""
    if sys.stderr is None or not is_journal(sys.stderr, environment):
        return
    sys.stderr = JournalLines(sys.stderr)
    tell = sys.excepthook

    def failed(kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
        with saying(Level.ERROR):
            tell(kind, error, at)

    sys.excepthook = failed


class JournalLines(io.TextIOBase):
    """Text in, lines with their priority out."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._begun: dict[int, str] = {}
        """By thread the line that has no end yet, so that two threads' lines stay apart."""

    def write(self, text: str) -> int:
        me = threading.get_ident()
        with self._lock:
            *lines, rest = (self._begun.pop(me, "") + text).split("\n")
            if rest:
                self._begun[me] = rest
            for line in lines:
                self._line(line)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(ValueError):  # it is closed
            self._out.flush()

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return self._out.fileno()

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """Say what has no end yet, and close."""
        if not self.closed:
            with self._lock, contextlib.suppress(OSError, ValueError):
                for rest in self._begun.values():
                    self._line(rest)
                self._begun.clear()
            with contextlib.suppress(OSError, ValueError):
                self._out.close()
        super().close()

    def _line(self, line: str) -> None:
        shown = "".join(ch if ch.isprintable() else f"\\x{ord(ch):02x}" for ch in line)
        if shown.strip():
            self._out.write(f"<{int(_said.level)}>{shown}\n")
            self._out.flush()
