"""Collect the standard error of an ssh process, to which the remote host can write as well: foreign text.

Standard error is always a pipe, so that no escape sequence of a remote host reaches our terminal.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterator

from kernel.printable import plain

LONGEST_LINE = 400
"""Characters of a line that are reported."""
MOST_LINES = 40
"""Lines that are reported before the remote shell has answered."""


class StandardError(threading.Thread):
    """Thread that reads standard error to its end; until `hush`, each line is reported, made printable, and kept."""

    def __init__(self, process: subprocess.Popen[bytes], tell: Callable[[str], None] | None = None) -> None:
        """Start reading the pipe of a process and own it from now on; `tell` is called from this thread."""
        super().__init__(name=f"stderr of {process.pid}", daemon=True)
        if process.stderr is None:
            raise ValueError("the process needs a pipe as its standard error")
        self._pipe = process.stderr
        self._tell = tell
        self._reported: list[str] = []
        self._muted = False
        self._changing = threading.Lock()
        self.start()

    @property
    def text(self) -> str:
        """The stored lines, joined by newlines."""
        return "\n".join(self._reported)

    def hush(self) -> None:
        """Drop all later lines; no line is reported once this has returned."""
        with self._changing:
            self._muted = True

    def run(self) -> None:
        with self._pipe:
            for line in _lines(self._pipe.fileno()):
                text = plain(line.strip(b" \t\r").decode("utf-8", "backslashreplace"))
                with self._changing:
                    if not text or self._muted or len(self._reported) >= MOST_LINES:
                        continue  # read all the same: a full pipe would block ssh
                    self._reported.append(text[:LONGEST_LINE])
                    if self._tell is not None:
                        self._tell(self._reported[-1])


def _lines(fd: int) -> Iterator[bytes]:
    """Yield the lines of a pipe; of a line that does not end, its beginning."""
    rest = b""
    while part := os.read(fd, 1 << 16):
        *complete, rest = (rest + part).split(b"\n")
        yield from complete
        rest = rest[:LONGEST_LINE]
    if rest:
        yield rest
