"""Format standard error for systemd's journal: one line each, with its priority in front and without control
characters.

A service's standard error is a socket of the journal, and `JOURNAL_STREAM` names it (systemd.exec(5)). A line that
begins with `<N>` is kept with that priority (sd-daemon(3)). Nothing changes where standard error is a file or a
terminal.
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
    """The command failed, or something is left behind."""
    WARNING = 4
    """Events were lost or dropped, or a probe was stopped."""
    INFO = 6


class _ThreadLevel(threading.local):
    level = Level.INFO


_thread_level = _ThreadLevel()


@contextlib.contextmanager
def at_priority(level: Level) -> Iterator[None]:
    """Give a priority to the lines that this thread prints to standard error inside the block."""
    before, _thread_level.level = _thread_level.level, level
    try:
        yield
    finally:
        _thread_level.level = before


def is_journal(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Tell whether a stream is the one that `JOURNAL_STREAM` (`DEVICE:INODE`) names: a redirected stream is not."""
    device, _, inode = environment.get("JOURNAL_STREAM", "").partition(":")
    try:
        about = os.fstat(stream.fileno())
    except (OSError, ValueError):  # closed, or not a file
        return False
    return (device, inode) == (str(about.st_dev), str(about.st_ino))


def install(environment: Mapping[str, str] = os.environ) -> None:
    """Format standard error for the journal from now on, if it goes there."""
    if sys.stderr is None or not is_journal(sys.stderr, environment):
        return
    sys.stderr = JournalLines(sys.stderr)
    tell = sys.excepthook

    def failed(kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
        with at_priority(Level.ERROR):
            tell(kind, error, at)

    sys.excepthook = failed


class JournalLines(io.TextIOBase):
    """Text stream that writes each line with its priority."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._unfinished: dict[int, str] = {}
        """Unfinished lines by thread, so that lines of two threads stay apart."""

    def write(self, text: str) -> int:
        me = threading.get_ident()
        with self._lock:
            *lines, rest = (self._unfinished.pop(me, "") + text).split("\n")
            if rest:
                self._unfinished[me] = rest
            for line in lines:
                self._line(line)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(ValueError):  # the stream is closed
            self._out.flush()

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return self._out.fileno()

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """Write unfinished lines, and close."""
        if not self.closed:
            with self._lock, contextlib.suppress(OSError, ValueError):
                for rest in self._unfinished.values():
                    self._line(rest)
                self._unfinished.clear()
            with contextlib.suppress(OSError, ValueError):
                self._out.close()
        super().close()

    def _line(self, line: str) -> None:
        if line.strip():
            shown = "".join(ch if ch.isprintable() else f"\\x{ord(ch):02x}" for ch in line)
            self._out.write(f"<{int(_thread_level.level)}>{shown}\n")
            self._out.flush()
