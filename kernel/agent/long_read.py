"""Read files moment by moment, so that other requests are answered meanwhile; part of the agent's source."""

# This file is Python 3.6 and imports the standard library alone: it runs on the remote host too.
import os
import time

from kernel.agent.frames import PART

MOMENT = 0.02
"""Seconds after which requests and streams have their turn: a kernel may take many seconds for its symbols."""
LONG_READ = 1.0
"""Seconds after which the rest of a file is read only while nothing else is asked for."""
GIVE_WAY = 0.05
"""Seconds from a request until such a file is read on: the next request comes sooner."""


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


class LongReads:
    """Files that are read to their ends between requests, by request; those first whose turn is next."""

    def __init__(self) -> None:
        self.reads: dict[int, LongRead] = {}

    def __contains__(self, ident: int) -> bool:
        return ident in self.reads

    @property
    def next_ident(self) -> int:
        """Request whose file is read on next."""
        return next(iter(self.reads))

    def begin(self, ident: int, fd: int, offset: int, limit: int) -> None:
        """Take an open file, to be read from an offset on, which is closed at its end. Raises OSError."""
        self.reads[ident] = LongRead(fd, limit)
        try:
            if offset:
                os.lseek(fd, offset, os.SEEK_SET)
        except OSError:
            self.end(ident)
            raise

    def go_on(self, ident: int) -> bytes:
        """Read on in a file for a moment, the others before it next time; return what is complete. Raises OSError."""
        reading = self.reads[ident] = self.reads.pop(ident)
        try:
            part = reading.go_on()
        except OSError:
            self.end(ident)
            raise
        if not reading.remaining:
            self.end(ident)
        return part

    def end(self, ident: int) -> None:
        os.close(self.reads.pop(ident).fd)

    def wait(self, now: float, last_request: float) -> float:
        """Return for how many seconds no file is read on: one that takes long gives way to other requests."""
        if not self.reads:
            return float("inf")
        is_long = now - self.reads[self.next_ident].since > LONG_READ
        return last_request + GIVE_WAY - now if is_long else 0.0
