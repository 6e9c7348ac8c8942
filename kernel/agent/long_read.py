"""Read a file moment by moment, so that other requests are answered meanwhile; part of the agent's source."""

# This file is Python 3.6 and imports the standard library alone: it runs on the remote host too.
import os
import time

from kernel.agent.frames import PART

MOMENT = 0.02
"""Seconds after which requests and streams have their turn: a kernel may take many seconds for its symbols."""


class LongRead:
    """An open file, and the bytes that were read of its next part."""

    def __init__(self, fd: int, remaining: int) -> None:
        self.fd = fd
        self.since = time.monotonic()
        self.remaining = remaining
        """Bytes that are wanted and not read; 0 from the end of the file on."""
        self.parts: list[bytes] = []
        self.size = 0

    def go_on(self) -> bytes:
        """Read for a moment; return the next part where it is complete, else nothing. Raises OSError."""
        until = time.monotonic() + MOMENT
        while self.remaining > 0 and self.size < PART:  # sysfs and seq files return a page per call
            data = os.read(self.fd, min(PART - self.size, self.remaining))
            self.parts.append(data)
            self.size += len(data)
            self.remaining = self.remaining - len(data) if data else 0
            if time.monotonic() >= until:
                break
        if self.remaining and self.size < PART:
            return b""
        part, self.parts, self.size = b"".join(self.parts), [], 0
        return part
