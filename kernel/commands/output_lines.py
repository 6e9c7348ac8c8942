"""Split the output of a command into lines of bounded length, each with the time at which its end was read."""

from __future__ import annotations

from typing import Final, NamedTuple

MOST_BYTES: Final = 4096
"""Bytes of a line; the rest of a longer one follows as further lines."""


class OutputLine(NamedTuple):
    """Line that a command wrote."""

    ts: int
    """Nanoseconds of CLOCK_MONOTONIC on the machine of the command."""
    stream: str
    """`stdout`, `stderr`, or `terminal`: a part of what was written to a pseudo terminal, with its line ends; `echo`:
    a part that the terminal itself wrote for what was typed.
    """
    data: bytes
    """The line, without its end."""
    goes_on: bool = False
    """True if the line was too long, and its rest is the next one of this stream."""

    @property
    def text(self) -> str:
        """The line as text; bytes that are not UTF-8 are surrogates (PEP 383)."""
        return self.data.decode("utf-8", "surrogateescape")


class LineSplitter:
    """Splitter of the output of one stream."""

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._rest = b""

    def split(self, ts: int, data: bytes) -> list[OutputLine]:
        """Return the lines that end in some more bytes; `ts`: their time."""
        found: list[OutputLine] = []
        *whole, rest = data.split(b"\n")
        for part in whole:
            found += self._pieces(ts, part)
            found.append(self._line(ts))
        found += self._pieces(ts, rest)
        return found

    def finish(self, ts: int) -> list[OutputLine]:
        """Return the last line if it has no end; `ts`: time of the end."""
        return [self._line(ts)] if self._rest else []

    def _pieces(self, ts: int, part: bytes) -> list[OutputLine]:
        """Add bytes to the line that has begun; return the pieces for which it is too long."""
        self._rest += part
        found = []
        while len(self._rest) > MOST_BYTES:
            found.append(OutputLine(ts, self._stream, self._rest[:MOST_BYTES], goes_on=True))
            self._rest = self._rest[MOST_BYTES:]
        return found

    def _line(self, ts: int) -> OutputLine:
        line, self._rest = OutputLine(ts, self._stream, self._rest), b""
        return line


class TerminalParts:
    """Output of a pseudo terminal, in the parts in which it was read: its lines are made on a screen."""

    def __init__(self, stream: str) -> None:
        self._stream = stream

    def split(self, ts: int, data: bytes) -> list[OutputLine]:
        """Return a part as it is."""
        return [OutputLine(ts, self._stream, data, goes_on=True)]

    def finish(self, ts: int) -> list[OutputLine]:  # noqa: ARG002 - as of a LineSplitter
        """Return nothing: no part waits for its end."""
        return []
