"""What an ssh process writes to its standard error, which the far side can write to as well: foreign text.

It is a pipe at any time, so that no escape sequence of a far host comes to our terminal.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterator

from kernel.printable import plain

LONGEST_LINE = 400
"""Characters of a line that are told."""
MOST_LINES = 40
"""Lines that are told before the greeting."""


class StandardError(threading.Thread):
    """Reads it to its end; until `hush` each line is told, made printable, and the last ones are kept."""

    def __init__(self, process: subprocess.Popen[bytes], tell: Callable[[str], None] | None = None) -> None:
        """Begin to read the pipe of a process, which is ours from now on; `tell` is called from this thread."""
        super().__init__(name=f"stderr of {process.pid}", daemon=True)
        if process.stderr is None:
            raise ValueError("the process needs a pipe as its standard error")
        self._pipe = process.stderr
        self._tell = tell
        self._said: list[str] = []
        self._hushed = False
        self._changing = threading.Lock()
        self.start()

    @property
    def said(self) -> str:
        """The lines that were told or kept, one below the other."""
        return "\n".join(self._said)

    def hush(self) -> None:
        """Drop whatever comes from now on; no line is told once this has returned."""
        with self._changing:
            self._hushed = True

    def run(self) -> None:
        with self._pipe:
            for line in _lines(self._pipe.fileno()):
                text = plain(line.strip(b" \t\r").decode("utf-8", "backslashreplace"))
                with self._changing:
                    if not text or self._hushed or len(self._said) >= MOST_LINES:
                        continue  # it is read all the same: a pipe that is full would hold ssh
                    self._said.append(text[:LONGEST_LINE])
                    if self._tell is not None:
                        self._tell(self._said[-1])


def _lines(fd: int) -> Iterator[bytes]:
    """Give what comes from a pipe, line by line; of one that does not end its beginning."""
    rest = b""
    while part := os.read(fd, 1 << 16):
        *whole, rest = (rest + part).split(b"\n")
        yield from whole
        rest = rest[:LONGEST_LINE]
    if rest:
        yield rest
